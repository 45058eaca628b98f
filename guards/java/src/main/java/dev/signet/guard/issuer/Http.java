package dev.signet.guard.issuer;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Redirect;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow.Subscription;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Reads short texts from the issuer. No redirect is followed: an address that was configured must not lead elsewhere.
 * Thread-safe.
 */
public final class Http {
  private final HttpClient client;

  /**
   * Reads with a client of your own: for a proxy, or for a certificate authority of your own.
   *
   * @throws IllegalArgumentException when it follows redirects
   */
  public Http(HttpClient client) {
    if (client.followRedirects() != Redirect.NEVER) throw new IllegalArgumentException("the client follows redirects");
    this.client = client;
  }

  /** Reads with the JDK's client. */
  public static Http create() {
    var builder = HttpClient.newBuilder().version(Version.HTTP_1_1).followRedirects(Redirect.NEVER);
    return new Http(builder.connectTimeout(Duration.ofSeconds(5)).build());
  }

  /** @throws IllegalArgumentException unless it is an absolute address of http or https */
  static URI address(String url) {
    var uri = URI.create(url);
    var isHttp = "https".equals(uri.getScheme()) || "http".equals(uri.getScheme());
    if (!isHttp || uri.getHost() == null) throw new IllegalArgumentException("\"" + url + "\" is not an http address");
    return uri;
  }

  /**
   * How long and how large an answer may be.
   *
   * @param timeoutMs for the whole answer, from the first byte asked to the last one read
   * @param maxBytes of its body
   */
  record Limits(long timeoutMs, int maxBytes) {}

  /** An answer that is not 200. */
  static final class StatusException extends IOException {
    private static final long serialVersionUID = 1;
    final int status;

    StatusException(int status) {
      super("status " + status);
      this.status = status;
    }
  }

  /** The body of a 200 answer to GET; with a token when it is not null. */
  String get(URI address, String token, Limits limits) throws IOException, InterruptedException {
    return send(request(address, token).GET().build(), limits);
  }

  /** The body of a 200 answer to a form. */
  String post(URI address, String token, String form, Limits limits) throws IOException, InterruptedException {
    var request = request(address, token).header("content-type", "application/x-www-form-urlencoded");
    return send(request.POST(BodyPublishers.ofString(form)).build(), limits);
  }

  private static HttpRequest.Builder request(URI address, String token) {
    var request = HttpRequest.newBuilder(address).header("accept", "application/json");
    return token == null ? request : request.header("authorization", "Bearer " + token);
  }

  private String send(HttpRequest request, Limits limits) throws IOException, InterruptedException {
    var answering = client.sendAsync(request, info -> new Bounded(info.statusCode() == 200 ? limits.maxBytes() : 0));
    try {
      var answer = answering.get(limits.timeoutMs(), TimeUnit.MILLISECONDS);
      if (answer.statusCode() != 200) throw new StatusException(answer.statusCode());
      if (answer.body() == null) throw new IOException("the response exceeds " + limits.maxBytes() + " bytes");
      var text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(answer.body())).toString();
      return text.startsWith("\uFEFF") ? text.substring(1) : text;
    } catch (TimeoutException error) {
      throw new IOException("the response took longer than " + limits.timeoutMs() + " ms", error);
    } catch (ExecutionException error) {
      if (error.getCause() instanceof IOException cause) throw cause;
      throw new IOException("no answer", error.getCause());
    } finally {
      // Ends the exchange, where it has not ended.
      answering.cancel(true);
    }
  }

  /** The body, or null when it is larger. */
  private static final class Bounded implements BodySubscriber<byte[]> {
    private final int maxBytes;
    private final CompletableFuture<byte[]> body = new CompletableFuture<>();
    private final ByteArrayOutputStream read = new ByteArrayOutputStream();
    private Subscription subscription;

    Bounded(int maxBytes) {
      this.maxBytes = maxBytes;
    }

    @Override
    public CompletionStage<byte[]> getBody() {
      return body;
    }

    @Override
    public void onSubscribe(Subscription one) {
      subscription = one;
      one.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(List<ByteBuffer> buffers) {
      for (var buffer : buffers) {
        if (read.size() + buffer.remaining() > maxBytes) {
          subscription.cancel();
          body.complete(null);
          return;
        }
        var bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        read.writeBytes(bytes);
      }
    }

    @Override
    public void onError(Throwable error) {
      body.completeExceptionally(error);
    }

    @Override
    public void onComplete() {
      body.complete(read.toByteArray());
    }
  }
}
