"""The line of a log that says why a program ended, among frames of stacks and repetitions."""

from __future__ import annotations

import pytest

from kubeflow_volcano.catalog.symptoms.logs import last_words

KLOG = """I1128 09:00:00.000001       1 server.go:60] starting
F1128 09:00:01.000001       1 main.go:98] the frobnicator is upside down
goroutine 1 [running]:
k8s.io/klog.stacks(0xc00000e001, 0xc0004fe000, 0x9c, 0xf3)
\t/go/pkg/mod/k8s.io/klog@v1.0.0/klog.go:875 +0xb9
main.main()
\t/workspace/main.go:98 +0x2a
goroutine 6 [chan receive]:
k8s.io/klog.(*loggingT).flushDaemon(0x2d0e0e0)
\t/go/pkg/mod/k8s.io/klog@v1.0.0/klog.go:1010 +0x8b
created by k8s.io/klog.init.0
\t/go/pkg/mod/k8s.io/klog@v1.0.0/klog.go:411 +0xd6
"""
GLOG = """W0626 09:05:55.970346     1 store.cc:231] a pigeon came
F0626 09:05:56.000000     1 store.cc:555] Check failed: the pigeon left
*** Check failure stack trace: ***
    @     0x55d0c0ffee00  (unknown)
    @     0x55d0c0ffee10  (unknown)
"""
ZAP = """{"level":"info","msg":"begun"}
{"level":"fatal","logger":"net","msg":"the kettle is cold","stacktrace":"main.main\\n\\tmain.go:102"}
main.main
\tknative.dev/net-istio/cmd/webhook/main.go:102 +0x2a
"""
PYTHON = """Traceback (most recent call last):
  File "/app/main.py", line 3, in <module>
    start()
  File "/app/main.py", line 2, in start
    raise TeapotError("short and stout")
app.TeapotError: short and stout
"""
JAVA = """Exception in thread "main" java.lang.IllegalStateException: no beans
\tat org.example.Main.start(Main.java:10)
\tat org.example.Main.main(Main.java:5)
\t... 3 more
"""
PANIC = """panic: assignment to entry in nil teapot

goroutine 1 [running]:
main.main()
\t/src/main.go:5 +0x3e
exit status 2
"""


@pytest.mark.parametrize(
    ("log", "line"),
    [
        (KLOG, "F1128 09:00:01.000001       1 main.go:98] the frobnicator is upside down"),
        (GLOG, "F0626 09:05:56.000000     1 store.cc:555] Check failed: the pigeon left"),
        (ZAP, ZAP.splitlines()[1]),
        (PYTHON, "app.TeapotError: short and stout"),
        (JAVA, 'Exception in thread "main" java.lang.IllegalStateException: no beans'),
        (PANIC, "panic: assignment to entry in nil teapot"),
        ("one\ntwo\n", "two"),
        ("boom: failed to start\nbye\n", "boom: failed to start"),
        ("", ""),
    ],
    ids=["klog", "glog", "zap", "python", "java", "panic", "quiet", "trouble", "empty"],
)
def test_the_line_that_says_why(log: str, line: str) -> None:
    assert last_words(log) == (line, None)
