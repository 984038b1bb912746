"""Ctrl-C as the tests send it."""

import os
import signal
import threading
import time


def interrupt_after(seconds):
    """Ctrl-C from another thread; the time of sending goes into the list."""
    sent = []

    def send():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(seconds, send)
    timer.daemon = True
    timer.start()
    return sent
