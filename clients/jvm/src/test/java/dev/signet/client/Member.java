package dev.signet.client;

import com.google.protobuf.ByteString;
import dev.signet.client.v1.ClientEvent;
import dev.signet.client.v1.CreateDirectConversationRequest;
import dev.signet.client.v1.CreateGroupConversationRequest;
import dev.signet.client.v1.Credential;
import dev.signet.client.v1.DestroyLocalStateRequest;
import dev.signet.client.v1.IdentityOptions;
import dev.signet.client.v1.ListTimelineRequest;
import dev.signet.client.v1.LoginRequest;
import dev.signet.client.v1.OpenRequest;
import dev.signet.client.v1.ReadyResponse;
import dev.signet.client.v1.SendRequest;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Flow;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/**
 * A client that a test commands by lines: a command and its words. An answer is a line. Bytes arrive as the hexadecimal
 * digits of their inverse, so that no buffer of this program has what the test looks for in memory.
 */
public final class Member {
  private final ConcurrentLinkedQueue<String> events = new ConcurrentLinkedQueue<>();
  private SignetClient client;
  private CompletableFuture<?> running;
  private byte[] held;

  private Member() {}

  public static void main(String[] args) throws IOException {
    var member = new Member();
    var lines = new BufferedReader(new InputStreamReader(System.in));
    for (var line = lines.readLine(); line != null; line = lines.readLine()) {
      System.out.println(member.answer(line.split(" ")));
      System.out.flush();
    }
    System.exit(0);
  }

  private String answer(String[] words) throws IOException {
    try {
      return "ok " + run(words);
    } catch (SignetException failure) {
      return "failed " + failure.kind() + " " + failure.reason();
    } catch (CompletionException failure) {
      if (!(failure.getCause() instanceof SignetException known)) throw failure;
      return "failed " + known.kind() + " " + known.reason();
    }
  }

  private static byte[] bytes(String inverted) {
    var bytes = HexFormat.of().parseHex(inverted);
    for (int i = 0; i < bytes.length; i++) bytes[i] = (byte) ~bytes[i];
    return bytes;
  }

  private static ByteString string(String inverted) {
    return ByteString.copyFrom(bytes(inverted));
  }

  private Object run(String[] words) throws IOException {
    return switch (words[0]) {
      case "open" -> open(words, passphraseOf(words[2]));
      case "boxed" -> open(words, boxOf(words[2], words[6]));
      case "ready" -> stateOf(client.identity().ready().join());
      case "refusal" -> refusal();
      case "signIn" -> signIn(words[1], words[2]);
      case "messenger" -> openMessenger(words);
      case "direct" -> client.messenger().createDirectConversation(
          CreateDirectConversationRequest.newBuilder().setPeerUserId(words[1]).build()).join().getConversation().getId();
      case "group" -> client.messenger().createGroupConversation(
          CreateGroupConversationRequest.newBuilder().addAllMemberUserIds(List.of(words).subList(1, words.length)).build())
          .join().getConversation().getId();
      case "send" -> client.messenger().send(
          SendRequest.newBuilder().setConversationId(words[1]).setPlaintext(string(words[2])).build()).join().getSeq();
      case "sync" -> client.messenger().sync().join().getSerializedSize();
      case "destroy" -> client.messenger().destroyLocalState(
          DestroyLocalStateRequest.newBuilder().setConfirm(String.join(" ", List.of(words).subList(1, words.length))).build())
          .join().getSerializedSize();
      case "follow" -> (running = client.messenger().run()).isDone();
      case "followed" -> running.join();
      case "texts" -> texts(words[1]);
      case "events" -> String.join(" ", events);
      case "calls" -> calls(Integer.parseInt(words[1]));
      case "rss" -> residentKilobytes();
      case "hold" -> (held = bytes(words[1])).length;
      case "print" -> held.length;
      case "close" -> close();
      default -> MemberServices.run(client, words, Member::string);
    };
  }

  private static UnaryOperator<SignetClient.Builder> passphraseOf(String inverted) {
    return builder -> {
      var passphrase = bytes(inverted);
      builder.passphrase(passphrase);
      Arrays.fill(passphrase, (byte) 0);
      return builder;
    };
  }

  /** A box by the name of its class, whose constructor takes the folder of its wrapping keys. */
  private static UnaryOperator<SignetClient.Builder> boxOf(String name, String folder) {
    try {
      var constructor = Class.forName(name).getDeclaredConstructor(String.class);
      constructor.setAccessible(true);
      var box = (SecretBox) constructor.newInstance(folder);
      return builder -> builder.secretBox(box);
    } catch (ReflectiveOperationException missing) {
      throw new IllegalArgumentException(name, missing);
    }
  }

  private String open(String[] words, UnaryOperator<SignetClient.Builder> box) {
    var identity = IdentityOptions.newBuilder()
        .setAppId(words[3])
        .setAuthBaseUrl(words[4])
        .addProviders("IDP_A")
        .addAudiences(words[5])
        .build();
    client = box.apply(TestHost.builder(identity, Path.of(words[1]))).open();
    client.events().subscribe(new Flow.Subscriber<>() {
      @Override
      public void onSubscribe(Flow.Subscription subscription) {
        subscription.request(Long.MAX_VALUE);
      }

      @Override
      public void onNext(ClientEvent event) {
        events.add(event.getEventCase().name());
      }

      @Override
      public void onError(Throwable failure) {
        events.add(failure.toString());
      }

      @Override
      public void onComplete() {
        events.add("COMPLETE");
      }
    });
    return client.toString();
  }

  private static String stateOf(ReadyResponse ready) {
    return ready.getState().hasSignedIn() ? "signedIn" : ready.getState().getLoggedOut();
  }

  private String refusal() {
    var refusal = client.secretBoxRefusal();
    return refusal == null ? "none" : refusal.failure().name();
  }

  private String signIn(String nonce, String idToken) {
    var request = LoginRequest.newBuilder()
        .setProvider("IDP_A")
        .setNonce(string(nonce).toStringUtf8())
        .setCredential(Credential.newBuilder().setIdTokenBytes(string(idToken)))
        .build();
    return client.identity().login(request).join().getUser().getPrincipalId();
  }

  private String openMessenger(String[] words) {
    var request = OpenRequest.newBuilder()
        .setBaseUrl(words[1])
        .setAudience(words[2])
        .addIssuerRootKeys(string(words[3]))
        .build();
    return client.messenger().open(request).join().getDeviceId();
  }

  private String texts(String conversation) {
    var request = ListTimelineRequest.newBuilder().setConversationId(conversation).build();
    return client.messenger().listTimeline(request).join().getEntriesList().stream()
        .filter(entry -> entry.hasMessage())
        .map(entry -> HexFormat.of().formatHex(entry.getMessage().getPlaintext().toByteArray()))
        .collect(Collectors.joining(" "));
  }

  /** Makes calls, 32 at a time. Returns nanoseconds per call. */
  private long calls(int count) {
    var start = System.nanoTime();
    var open = new ArrayDeque<CompletableFuture<ReadyResponse>>();
    for (int i = 0; i < count; i++) {
      if (open.size() == 32) open.remove().join();
      open.add(client.identity().ready());
    }
    for (var call : open) call.join();
    return (System.nanoTime() - start) / count;
  }

  private static String residentKilobytes() throws IOException {
    System.gc();
    var status = Files.readAllLines(Path.of("/proc/self/status"));
    var line = status.stream().filter(one -> one.startsWith("VmRSS:")).findFirst().orElseThrow();
    return line.replaceAll("\\D", "");
  }

  private String close() {
    client.close();
    return client.toString();
  }
}
