// grpc-shop is a gRPC server that some calls kill, and its client:
//
//	PORT=9090 grpc-shop
//	grpc-shop ask 127.0.0.1:9090 NAME…
//
// docs/gateway.md shows how to run both with Bezoar between them.
package main

import "os"

func main() {
	if len(os.Args) > 3 && os.Args[1] == "ask" {
		ask(os.Args[2], os.Args[3:])
		return
	}
	serve()
}
