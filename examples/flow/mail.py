"""Mails what is on stdin: mail.py TO SUBJECT. $SMTP is host:port."""
import email.message, os, smtplib, sys

mail = email.message.EmailMessage()
mail["From"], mail["To"], mail["Subject"] = "bezoar@example.com", sys.argv[1], sys.argv[2]
mail.set_content(sys.stdin.read())
host, port = os.environ["SMTP"].rsplit(":", 1)
with smtplib.SMTP(host, int(port), timeout=10) as server:
    server.send_message(mail)
