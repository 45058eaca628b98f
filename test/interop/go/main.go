// Command notes is a service of somebody else's: it knows Signet's contract and nothing else of it.
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
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"

	authzv1 "signet.example/notes/gen/signet/authz/v1"
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
		keys := newKeySet(settings.JwksURL)
		return serve(args[1], &verifier{settings.Issuer, settings.Audience, keys, time.Now})
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

func serve(name string, v *verifier) error {
	service := notesv1.File_signet_example_notes_v1_notes_proto.Services().ByName(protoreflect.Name(name))
	if service == nil {
		return fmt.Errorf("no service %s", name)
	}
	g, err := newGuard(v, service)
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(g.unary), grpc.StreamInterceptor(g.stream))
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

type decision struct {
	Allow   bool   `json:"allow"`
	Reason  string `json:"reason,omitempty"`
	Status  int    `json:"status,omitempty"`
	Message string `json:"message,omitempty"`
	// What is told beside the reason: the scope that is missing.
	Metadata map[string]string `json:"metadata,omitempty"`
}

func decide(input *json.Decoder) error {
	var cases []struct {
		Requirement json.RawMessage
		Claims      map[string]any
		// By source and field: "BODY tenant_id".
		Tenants map[string]string
	}
	if err := input.Decode(&cases); err != nil {
		return err
	}
	decisions := []decision{}
	for _, one := range cases {
		requirement := &authzv1.AuthRequirement{}
		if err := protojson.Unmarshal(one.Requirement, requirement); err != nil {
			return err
		}
		if err := checkRequirement(requirement, nil, false); err != nil {
			return err
		}
		who, err := contextOf(one.Claims)
		if err != nil {
			return err
		}
		denied := authorize(requirement, who, func(tenant *authzv1.TenantBound) string {
			return one.Tenants[tenant.From.String()+" "+tenant.Field]
		})
		if denied == nil {
			decisions = append(decisions, decision{Allow: true})
			continue
		}
		told := refusals[denied.reason]
		decisions = append(decisions, decision{false, denied.reason, told.Status, told.Message, denied.metadata()})
	}
	return json.NewEncoder(os.Stdout).Encode(decisions)
}
