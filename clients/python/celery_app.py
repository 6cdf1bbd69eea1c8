"""The tasks that celery_round.py sends, and the worker runs."""

import os

from celery import Celery

if "CELERY_BROKER" not in os.environ:  # in the sender
    import __main__

    broker, queue, options = __main__.broker(), __main__.QUEUE, __main__.OPTIONS
else:
    broker, queue = os.environ["CELERY_BROKER"], os.environ["CELERY_QUEUE"]
    options = {"is_secure": False, "region": "us-east-1", "visibility_timeout": 30, "wait_time_seconds": 1, "polling_interval": 0.1}

app = Celery("round", broker=broker)
app.conf.update(
    broker_transport_options=options, task_default_queue=queue, worker_enable_remote_control=False,
    task_acks_late=True, worker_prefetch_multiplier=1, task_ignore_result=True,
)


@app.task(bind=True, max_retries=2)
def add(self, results, number):
    if number == 3 and self.request.retries == 0:
        raise self.retry(countdown=1)
    with open(os.path.join(results, f"done-{number}"), "w") as f:
        f.write(f"retries: {self.request.retries}")
