// pause is the first process of every pod: it holds the pod's namespaces, reaps orphans and ends when it is told to.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ended := make(chan os.Signal, 1)
	stopped := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	signal.Notify(stopped, syscall.SIGINT, syscall.SIGTERM)
	for {
		select {
		case <-ended:
			reap()
		case <-stopped:
			return
		}
	}
}

// reap collects every child that has ended: one SIGCHLD may stand for many.
func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err != syscall.EINTR && (err != nil || pid <= 0) {
			return
		}
	}
}
