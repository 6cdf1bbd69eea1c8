package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// ask asks the server at an address for orders.
func ask(address string, names []string) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range names {
		wait := time.Minute
		if name == "slow" {
			wait = time.Second
		}
		fmt.Println(order(conn, name, wait))
	}
}

// order returns the answer or the status of one call.
func order(conn *grpc.ClientConn, name string, wait time.Duration) string {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	answer := new(wrapperspb.StringValue)
	if err := conn.Invoke(ctx, "/shop.v1.Orders/Get", wrapperspb.String(name), answer); err != nil {
		s := status.Convert(err)
		return fmt.Sprintf("%v: %s", s.Code(), s.Message())
	}
	return answer.Value
}
