"""Writes the names of the partitions of a source: a folder or a URL."""
import os, sys, urllib.request

source = sys.argv[1]
if "://" in source:
    with urllib.request.urlopen(source + "/index.txt", timeout=10) as answer:
        names = answer.read().decode().split()
else:
    names = sorted(n for n in os.listdir(source) if n.endswith(".csv"))
with open(os.environ["BEZOAR_OUTPUT"], "w") as out:
    out.writelines(name + "\n" for name in names)
print(len(names), "partitions")
