package dev.signet.client.pure;

import com.google.protobuf.ByteString;
import dev.signet.host.v1.EffectFailure;
import dev.signet.host.v1.EffectResult;
import dev.signet.host.v1.Header;
import dev.signet.host.v1.HttpPiece;
import dev.signet.host.v1.HttpRequest;
import dev.signet.host.v1.HttpResponse;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpResponse.ResponseInfo;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/** HTTP requests of the core: certificates are verified, no redirect is followed, no cookie is stored. */
final class Http {
  private static final int MAX_BODY = 64 << 20;
  private static final Duration CONNECT = Duration.ofSeconds(30);

  /** Takes what a request has for the core, on the client's thread. */
  interface Sink {
    void push(long id, byte[] piece);

    void complete(long id, EffectResult result);
  }

  private final Sink sink;
  /** Runs on the client's thread. */
  private final Executor core;
  private @Nullable HttpClient https;
  /** For loopback addresses: without a proxy, and without an upgrade to HTTP/2. */
  private @Nullable HttpClient http;
  private final Map<Long, Running> running = new HashMap<>();

  /** @param trustAnchors a file of PEM certificates in the place of the system's; empty for the system's */
  Http(Sink sink, Executor core, String trustAnchors) {
    this.sink = sink;
    this.core = core;
    var secure = HttpClient.newBuilder().connectTimeout(CONNECT).followRedirects(HttpClient.Redirect.NEVER);
    if (!trustAnchors.isEmpty()) secure.sslContext(trusting(Path.of(trustAnchors)));
    https = secure.build();
    http = HttpClient.newBuilder().connectTimeout(CONNECT).followRedirects(HttpClient.Redirect.NEVER)
        .proxy(HttpClient.Builder.NO_PROXY).version(HttpClient.Version.HTTP_1_1).build();
  }

  private static SSLContext trusting(Path file) {
    try (InputStream in = Files.newInputStream(file)) {
      var store = KeyStore.getInstance(KeyStore.getDefaultType());
      store.load(null, null);
      for (var certificate : CertificateFactory.getInstance("X.509").generateCertificates(in)) {
        store.setCertificateEntry(String.valueOf(store.size()), certificate);
      }
      var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(store);
      var context = SSLContext.getInstance("TLS");
      context.init(null, trust.getTrustManagers(), null);
      return context;
    } catch (IOException | GeneralSecurityException fault) {
      throw HostFailure.io("the file of trust anchors cannot be read");
    }
  }

  /** The client for an address. http is for loopback addresses only: a token in clear text must not leave the machine. */
  private HttpClient clientFor(URI address) {
    if ("https".equalsIgnoreCase(address.getScheme())) return https;
    var host = String.valueOf(address.getHost());
    var isLoopback = host.equals("localhost") || host.equals("[::1]") || host.matches("127(\\.\\d{1,3}){3}");
    if ("http".equalsIgnoreCase(address.getScheme()) && isLoopback) return http;
    throw new HostFailure(EffectFailure.Kind.UNREACHABLE, "the address is neither https nor of this machine");
  }

  /** Starts a request. Its outcome comes later. */
  void start(long id, HttpRequest effect) {
    var request = java.net.http.HttpRequest.newBuilder();
    HttpClient client;
    try {
      var address = URI.create(effect.getUrl());
      client = clientFor(address);
      request.uri(address);
      for (var header : effect.getHeadersList()) request.header(header.getName(), header.getValue());
      var body = effect.getBody();
      var hasBody = !body.isEmpty() || !effect.getMethod().equals("GET");
      request.method(
          effect.getMethod(), hasBody ? BodyPublishers.ofByteArray(body.toByteArray()) : BodyPublishers.noBody());
    } catch (IllegalArgumentException malformed) {
      throw HostFailure.io("the request is malformed");
    }
    var each = new Running(id, effect);
    running.put(id, each);
    each.future = client.sendAsync(request.build(), each::bodyOf);
    each.future.whenComplete((response, fault) -> core.execute(() -> each.end(fault)));
  }

  /** Stops a request, and drops its outcome. */
  void cancel(long id) {
    var found = running.remove(id);
    if (found != null) found.stop();
  }

  /** Cancels the requests. Java ends the connections of a client that nothing refers to, with the tokens in their buffers. */
  void close() {
    for (var id : List.copyOf(running.keySet())) cancel(id);
    https = null;
    http = null;
  }

  /** Ends the requests whose time has passed. Returns the milliseconds to the next one's end; below zero for none. */
  long expire() {
    var next = -1L;
    for (var each : List.copyOf(running.values())) {
      if (each.endNanos == 0) continue;
      var left = (each.endNanos - System.nanoTime()) / 1_000_000;
      if (left <= 0) {
        cancel(each.id);
        sink.complete(each.id, failure(EffectFailure.Kind.TIMED_OUT, "the time limit has passed"));
        return 0;
      }
      next = next < 0 ? left : Math.min(next, left);
    }
    return next;
  }

  private static EffectResult failure(EffectFailure.Kind kind, String message) {
    return EffectResult.newBuilder().setFailure(new HostFailure(kind, message).toEffect()).build();
  }

  private static void addHeaders(HttpHeaders headers, java.util.function.Consumer<Header> to) {
    headers.map().forEach((name, values) -> {
      // The status of HTTP/2 is no header.
      if (name.startsWith(":")) return;
      for (var value : values) to.accept(Header.newBuilder().setName(name.toLowerCase(java.util.Locale.ROOT)).setValue(value).build());
    });
  }

  /** A running request. All but the subscriber's calls are on the client's thread. */
  private final class Running {
    private final long id;
    private final boolean isStream;
    private final long endNanos;
    private final HttpResponse.Builder answer = HttpResponse.newBuilder();
    private ByteString body = ByteString.EMPTY;
    private volatile @Nullable CompletableFuture<?> future;
    private volatile Flow.@Nullable Subscription subscription;

    Running(long id, HttpRequest effect) {
      this.id = id;
      isStream = effect.getIsStream();
      var limit = Integer.toUnsignedLong(effect.getTimeoutMs());
      endNanos = limit == 0 ? 0 : System.nanoTime() + limit * 1_000_000;
    }

    private boolean isWanted() {
      return running.get(id) == this;
    }

    void stop() {
      var body = subscription;
      if (body != null) body.cancel();
      var sent = future;
      if (sent != null) sent.cancel(true);
    }

    BodySubscriber<Void> bodyOf(ResponseInfo info) {
      core.execute(() -> begin(info));
      return new Body();
    }

    private void begin(ResponseInfo info) {
      if (!isWanted()) return;
      answer.setStatus(info.statusCode());
      addHeaders(info.headers(), answer::addHeaders);
      if (!isStream) return;
      sink.push(id, HttpPiece.newBuilder()
          .setStatus(answer.getStatus()).addAllHeaders(answer.getHeadersList()).build().toByteArray());
    }

    private void take(ByteString part) {
      if (!isWanted()) return;
      if (isStream) {
        sink.push(id, HttpPiece.newBuilder().setBody(part).build().toByteArray());
      } else {
        body = body.concat(part);
        if (body.size() > MAX_BODY) {
          cancel(id);
          sink.complete(id, failure(EffectFailure.Kind.UNREACHABLE, "the answer is too long"));
          return;
        }
      }
      subscription.request(1);
    }

    void end(@Nullable Throwable fault) {
      if (!running.remove(id, this)) return;
      if (fault == null) {
        sink.complete(id, EffectResult.newBuilder().setHttp(answer.setBody(body)).build());
        return;
      }
      var cause = fault.getCause() == null ? fault : fault.getCause();
      var isLate = fault instanceof java.net.http.HttpTimeoutException || cause instanceof java.net.http.HttpTimeoutException;
      var kind = isLate ? EffectFailure.Kind.TIMED_OUT : EffectFailure.Kind.UNREACHABLE;
      sink.complete(id, failure(kind, cause.getClass().getSimpleName()));
    }

    /** Requests the next part once the core has taken one. */
    private final class Body implements BodySubscriber<Void> {
      private final CompletableFuture<Void> whole = new CompletableFuture<>();

      @Override
      public CompletionStage<Void> getBody() {
        return whole;
      }

      @Override
      public void onSubscribe(Flow.Subscription given) {
        subscription = given;
        given.request(1);
      }

      @Override
      public void onNext(List<ByteBuffer> parts) {
        var joined = parts.stream().map(ByteString::copyFrom).reduce(ByteString.EMPTY, ByteString::concat);
        core.execute(() -> take(joined));
      }

      @Override
      public void onError(Throwable fault) {
        whole.completeExceptionally(fault);
      }

      @Override
      public void onComplete() {
        whole.complete(null);
      }
    }
  }
}
