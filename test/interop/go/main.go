// Command notes is a service by others: it has Signet's contract and its guard for Go.
//
//	notes serve SERVICE   serves until standard input ends; prints its port
//	notes decide          answers the decision vectors on standard input
//	notes call            calls Signet
//
// What each needs comes as one JSON object on standard input.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"

	"signet.dev/guard"
	"signet.dev/guard/grpcguard"
	notesv1 "signet.example/notes/gen/signet/example/notes/v1"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	input := json.NewDecoder(os.Stdin)
	switch {
	case len(args) == 2 && args[0] == "serve":
		var settings struct{ Issuer, Audience, JwksURL string }
		if err := input.Decode(&settings); err != nil {
			return err
		}
		keys, err := guard.NewKeySet(guard.KeySetOptions{URL: settings.JwksURL})
		if err != nil {
			return err
		}
		return serve(args[1], guard.Options{
			Issuer: settings.Issuer, Audience: settings.Audience, AppID: guard.AnyApp, KeySet: keys,
		})
	case len(args) == 1 && args[0] == "decide":
		return decide(input)
	case len(args) == 1 && args[0] == "call":
		var given call
		if err := input.Decode(&given); err != nil {
			return err
		}
		return look(given)
	}
	return fmt.Errorf("usage: notes serve SERVICE | decide | call")
}

func serve(name string, options guard.Options) error {
	service := notesv1.File_signet_example_notes_v1_notes_proto.Services().ByName(protoreflect.Name(name))
	if service == nil {
		return fmt.Errorf("no service %s", name)
	}
	g, err := guard.New(options)
	if err != nil {
		return err
	}
	interceptors, err := grpcguard.New(g, grpcguard.Options{Descriptors: []protoreflect.ServiceDescriptor{service}})
	if err != nil {
		return err
	}
	server := grpc.NewServer(interceptors.ServerOptions()...)
	notesv1.RegisterNotesServiceServer(server, &notes{texts: map[string][]string{}})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		server.Stop()
	}()
	return server.Serve(listener)
}
