package main

import (
	"context"
	"sync"

	"google.golang.org/grpc"

	"signet.dev/guard"
	"signet.dev/guard/grpcguard"
	notesv1 "signet.example/notes/gen/signet/example/notes/v1"
)

// notes is the service: nothing in it looks at a token.
type notes struct {
	notesv1.UnimplementedNotesServiceServer
	mu    sync.Mutex
	texts map[string][]string
}

func (n *notes) CreateNote(ctx context.Context, req *notesv1.CreateNoteRequest) (*notesv1.CreateNoteResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	caller := guard.Caller(ctx)
	n.texts[caller.TenantID] = append(n.texts[caller.TenantID], req.Text)
	return &notesv1.CreateNoteResponse{Author: caller.Principal.ID}, nil
}

func (n *notes) ListNotes(_ *notesv1.ListNotesRequest, out grpc.ServerStreamingServer[notesv1.ListNotesResponse]) error {
	n.mu.Lock()
	texts := append([]string(nil), n.texts[guard.Caller(out.Context()).TenantID]...)
	n.mu.Unlock()
	for _, text := range texts {
		if err := out.Send(&notesv1.ListNotesResponse{Text: text}); err != nil {
			return err
		}
	}
	return nil
}

func (n *notes) Whoami(ctx context.Context, _ *notesv1.WhoamiRequest) (*notesv1.WhoamiResponse, error) {
	context, err := grpcguard.Message(guard.Caller(ctx))
	return &notesv1.WhoamiResponse{Context: context}, err
}

func (n *notes) Ping(context.Context, *notesv1.PingRequest) (*notesv1.PingResponse, error) {
	return &notesv1.PingResponse{}, nil
}
