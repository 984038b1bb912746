"""Ctrl-C as the tests send it."""

import os
import signal
import sys
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


def interrupted(action, after, *files):
    """Run with Ctrl-C before the given line of these files; whether there was such a line."""
    count = 0

    def trace(frame, event, arg):
        nonlocal count
        if not frame.f_code.co_filename.endswith(files):
            return None
        if event == "line":
            count += 1
            if count == after:
                raise KeyboardInterrupt
        return trace

    old = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(old)
    return False
