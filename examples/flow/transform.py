"""Reads one partition and writes rows of day, shop, item and total."""
import csv, io, os, sys, urllib.request

source, name, day = sys.argv[1:]
if "://" in source:
    with urllib.request.urlopen(source + "/" + name, timeout=10) as answer:
        text = answer.read().decode()
else:
    with open(os.path.join(source, name)) as partition:
        text = partition.read()


def price(text):
    if text == "n/a" and os.environ["MISSING"]:
        text = os.environ["MISSING"]
    return float(text)


with open(os.environ["BEZOAR_OUTPUT"], "w") as out:
    rows = csv.writer(out, lineterminator="\n")
    for sale in csv.DictReader(io.StringIO(text)):
        rows.writerow([day, name.removesuffix(".csv"), sale["item"], price(sale["price"]) * int(sale["count"])])
