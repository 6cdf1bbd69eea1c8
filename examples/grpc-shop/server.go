package main

import (
	"context"
	"log"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// serve answers calls at $PORT.
func serve() {
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "shop.v1.Orders",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Get", Handler: get}},
	}, nil)
	healthpb.RegisterHealthServer(server, health.NewServer())
	log.Fatal(server.Serve(listener))
}

// get answers with the order of a name. Generated code would call it with its messages;
// this file needs none.
func get(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	name := new(wrapperspb.StringValue)
	if err := decode(name); err != nil {
		return nil, err
	}
	switch name.Value {
	case "crash": // a panic outside of the call's goroutine, which nothing recovers
		go panic("no order has this name")
		select {}
	case "slow":
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	case "none":
		return nil, status.Error(codes.NotFound, "there is no such order")
	}
	return wrapperspb.String("order of " + name.Value), nil
}
