// nslookup NAME ends with 0 when the name resolves over the search list of /etc/resolv.conf.
//
// Busybox 1.35's own ends with 1 as soon as one suffix of the search list does not resolve, although the name does;
// the training operator's init containers wait for exit code 0.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"
)

const patience = 5 * time.Second

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: nslookup NAME")
		os.Exit(2)
	}
	name := os.Args[1]
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil {
		fmt.Fprintf(os.Stderr, "** can't find %s: %v\n", name, err)
		os.Exit(1)
	}
	for _, address := range addresses {
		fmt.Printf("Name:\t%s\nAddress: %s\n", name, address)
	}
}
