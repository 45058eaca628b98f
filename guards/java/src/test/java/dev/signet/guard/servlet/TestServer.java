package dev.signet.guard.servlet;

import dev.signet.guard.AuthContext;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import org.eclipse.jetty.ee10.servlet.FilterHolder;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** Jetty on loopback with one filter, which a test sets, and a servlet that answers with what it sees. */
final class TestServer implements AutoCloseable {
  private final Server server = new Server();
  private final ServerConnector connector = new ServerConnector(server, new HttpConnectionFactory(configuration()));
  private final HttpClient client = HttpClient.newHttpClient();

  /** What stands before the servlet. */
  volatile Filter filter;

  /** The caller that the servlet was told of last; null for none. */
  volatile AuthContext caller;

  /** How often the servlet ran. */
  volatile int runs;

  TestServer() throws Exception {
    connector.setHost("127.0.0.1");
    server.addConnector(connector);
    var context = new ServletContextHandler("/app");
    context.addFilter(new FilterHolder(new Current()), "/*", EnumSet.of(DispatcherType.REQUEST));
    context.addServlet(new ServletHolder(new Echo()), "/*");
    server.setHandler(context);
    server.start();
  }

  /** Jetty takes 8 KiB of headers, which one token may have alone. */
  private static HttpConfiguration configuration() {
    var configuration = new HttpConfiguration();
    configuration.setRequestHeaderSize(32 * 1024);
    // A refused call's body is not read; Jetty then closes the connection, and a client that used it again would fail.
    configuration.setPersistentConnectionsEnabled(false);
    return configuration;
  }

  private final class Current implements Filter {
    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
        throws IOException, ServletException {
      filter.doFilter(request, response, chain);
    }
  }

  /** Caller, path variables and body. */
  private final class Echo extends HttpServlet {
    private static final long serialVersionUID = 1;

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
      runs++;
      caller = GuardFilter.caller(request);
      var body = new String(request.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      var told = (caller == null ? "nobody" : caller.principal().id()) + " " + GuardFilter.path(request) + " " + body;
      response.getOutputStream().write(told.getBytes(StandardCharsets.UTF_8));
    }
  }

  HttpResponse<String> post(String path, String body, String... headers) throws IOException, InterruptedException {
    var address = URI.create("http://127.0.0.1:" + connector.getLocalPort() + "/app" + path);
    var request = HttpRequest.newBuilder(address).POST(HttpRequest.BodyPublishers.ofString(body));
    for (int i = 0; i < headers.length; i += 2) request.header(headers[i], headers[i + 1]);
    return client.send(request.build(), BodyHandlers.ofString());
  }

  @Override
  public void close() throws Exception {
    server.stop();
  }
}
