package signet.example.notes;

import dev.signet.guard.grpc.ContextMessages;
import dev.signet.guard.grpc.GrpcGuard;
import io.grpc.stub.StreamObserver;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import signet.example.notes.v1.Notes.CreateNoteRequest;
import signet.example.notes.v1.Notes.CreateNoteResponse;
import signet.example.notes.v1.Notes.ListNotesRequest;
import signet.example.notes.v1.Notes.ListNotesResponse;
import signet.example.notes.v1.Notes.PingRequest;
import signet.example.notes.v1.Notes.PingResponse;
import signet.example.notes.v1.Notes.WhoamiRequest;
import signet.example.notes.v1.Notes.WhoamiResponse;
import signet.example.notes.v1.NotesServiceGrpc.NotesServiceImplBase;

/** The service: nothing in it looks at a token. */
final class NotesService extends NotesServiceImplBase {
  private final Map<String, List<String>> texts = new ConcurrentHashMap<>();

  @Override
  public void createNote(CreateNoteRequest request, StreamObserver<CreateNoteResponse> answer) {
    var caller = GrpcGuard.CALLER.get();
    texts.computeIfAbsent(caller.tenantId(), tenant -> new CopyOnWriteArrayList<>()).add(request.getText());
    answer.onNext(CreateNoteResponse.newBuilder().setAuthor(caller.principal().id()).build());
    answer.onCompleted();
  }

  @Override
  public void listNotes(ListNotesRequest request, StreamObserver<ListNotesResponse> answer) {
    for (String text : texts.getOrDefault(GrpcGuard.CALLER.get().tenantId(), List.of())) {
      answer.onNext(ListNotesResponse.newBuilder().setText(text).build());
    }
    answer.onCompleted();
  }

  @Override
  public void whoami(WhoamiRequest request, StreamObserver<WhoamiResponse> answer) {
    answer.onNext(WhoamiResponse.newBuilder().setContext(ContextMessages.of(GrpcGuard.CALLER.get())).build());
    answer.onCompleted();
  }

  @Override
  public void ping(PingRequest request, StreamObserver<PingResponse> answer) {
    answer.onNext(PingResponse.getDefaultInstance());
    answer.onCompleted();
  }
}
