package dev.signet.guard;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.BiFunction;

/** A fake of the issuer, on loopback: answers what a test says. Its token endpoint gives the token "own". */
public final class FakeIssuer implements AutoCloseable {
  private final HttpServer server;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final BiFunction<String, String, Answer> answer;

  /** What was asked, but for tokens of its own: path and query. */
  public final List<String> asked = new CopyOnWriteArrayList<>();

  /** An answer; status 0 for one that breaks off. */
  public record Answer(int status, String body, Map<String, String> headers) {
    public static final Answer UNREACHABLE = new Answer(0, "", Map.of());

    public static Answer ok(String body) {
      return new Answer(200, body, Map.of());
    }

    public static Answer status(int status) {
      return new Answer(status, "", Map.of());
    }
  }

  /** @param answer gets path with query, and the request's body */
  public FakeIssuer(BiFunction<String, String, Answer> answer) throws IOException {
    this.answer = answer;
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.createContext("/", this::handle);
    server.start();
  }

  public String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  private void handle(HttpExchange exchange) throws IOException {
    var body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
    var path = exchange.getRequestURI().toString();
    Answer given;
    if (path.equals("/auth/token")) {
      given = Answer.ok("{\"access_token\":\"own\",\"expires_in\":600}");
    } else {
      asked.add(path);
      given = answer.apply(path, body);
    }
    if (given.status() == 0) {
      // Breaks off after the header: without any byte the JDK's client would ask once more by itself.
      exchange.sendResponseHeaders(200, 10);
    } else {
      var bytes = given.body().getBytes(StandardCharsets.UTF_8);
      given.headers().forEach((name, value) -> exchange.getResponseHeaders().set(name, value));
      exchange.sendResponseHeaders(given.status(), bytes.length == 0 ? -1 : bytes.length);
      exchange.getResponseBody().write(bytes);
    }
    exchange.close();
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
