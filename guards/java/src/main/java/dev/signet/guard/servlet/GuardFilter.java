package dev.signet.guard.servlet;

import dev.signet.guard.AuthContext;
import dev.signet.guard.Challenge;
import dev.signet.guard.Decision.Allow;
import dev.signet.guard.Decision.Deny;
import dev.signet.guard.Guard;
import dev.signet.guard.Problem;
import dev.signet.guard.Reason;
import dev.signet.guard.Refused;
import dev.signet.guard.Requirement;
import dev.signet.guard.Requirement.Source;
import dev.signet.guard.Rule;
import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * The guard before servlets: lets calls through whose caller meets the requirement of their path. The rest get a
 * problem (RFC 9457) and a challenge (RFC 6750). Thread-safe.
 *
 * <pre>{@code
 * GuardFilter.builder(guard)
 *     .path("GET", "/notes/{note_id}", Requirement.scope("notes.read"))
 *     .path("POST", "/notes", Requirement.scope("notes.write"))
 *     .build()
 * }</pre>
 *
 * <p>A path or method that is not named is refused: 404. Paths are those behind the context path, segment by segment.
 * {@code HEAD} and {@code OPTIONS} are methods like any other; put a CORS filter before this one.
 */
public final class GuardFilter implements Filter {
  private static final String CALLER = GuardFilter.class.getName() + ".caller";
  private static final String PATH = GuardFilter.class.getName() + ".path";
  private static final Pattern HEADER = Pattern.compile("[a-z0-9-]+");

  private final List<Route> routes;
  private final int maxBodyBytes;

  /** A method and a path, with what they require. Null: any. */
  private record Route(String method, PathTemplate path, Rule rule, boolean readsBody) {}

  private GuardFilter(List<Route> routes, int maxBodyBytes) {
    this.routes = List.copyOf(routes);
    this.maxBodyBytes = maxBodyBytes;
  }

  /** One requirement for everything that the filter is mapped to. It cannot name a path variable. */
  public static GuardFilter of(Guard guard, Requirement requirement) {
    var builder = builder(guard);
    builder.add(null, null, requirement);
    return builder.build();
  }

  /** A requirement for each path. */
  public static Builder builder(Guard guard) {
    return new Builder(guard);
  }

  /**
   * The caller, in a handler behind the filter. Null in public paths, for {@code bodyCredential} without a valid
   * token, and where no guard stands before the handler.
   */
  public static AuthContext caller(ServletRequest request) {
    return (AuthContext) request.getAttribute(CALLER);
  }

  /** The path's variables, as the guard read them. A handler that reads them itself may read others. */
  @SuppressWarnings("unchecked")
  public static Map<String, String> path(ServletRequest request) {
    var path = (Map<String, String>) request.getAttribute(PATH);
    return path == null ? Map.of() : path;
  }

  /** Writes a refusal, for handlers that refuse in the guard's own words. */
  public static void refuse(HttpServletResponse response, Refused why) throws IOException {
    response.setStatus(why.reason().status());
    response.setHeader("Cache-Control", "no-store");
    var challenge = Challenge.of(why);
    if (challenge != null) response.setHeader("WWW-Authenticate", challenge);
    response.setContentType(Problem.CONTENT_TYPE);
    var body = Problem.of(why).getBytes(StandardCharsets.UTF_8);
    response.setContentLength(body.length);
    response.getOutputStream().write(body);
  }

  @Override
  public void doFilter(ServletRequest plain, ServletResponse answer, FilterChain chain)
      throws IOException, ServletException {
    if (!(plain instanceof HttpServletRequest request) || !(answer instanceof HttpServletResponse response)) {
      throw new ServletException("no HTTP");
    }
    for (var route : routes) {
      var values = valuesOf(route, request);
      if (values == null) continue;
      decide(route, values, request, response, chain);
      return;
    }
    refuse(response, new Refused(Reason.METHOD_UNKNOWN));
  }

  private static Map<String, String> valuesOf(Route route, HttpServletRequest request) {
    if (route.method() != null && !route.method().equals(request.getMethod())) return null;
    if (route.path() == null) return Map.of();
    return route.path().match(request.getRequestURI().substring(request.getContextPath().length()));
  }

  private void decide(
      Route route, Map<String, String> values, HttpServletRequest request, HttpServletResponse response,
      FilterChain chain)
      throws IOException, ServletException {
    var caller = route.rule().authenticate(joined(request, "authorization"));
    var readsBody = route.readsBody() && caller.context() != null;
    var body = readsBody ? new JsonBody(request, maxBodyBytes) : null;
    var json = body == null ? null : body.json();
    var decision =
        route.rule().decide(
            caller,
            (from, field) -> {
              if (from == Source.PATH) return values.get(field);
              if (from == Source.HEADER) return joined(request, field);
              return from == Source.BODY ? JsonField.in(json, field) : null;
            });
    if (decision instanceof Allow allow) {
      request.setAttribute(CALLER, allow.context());
      request.setAttribute(PATH, Collections.unmodifiableMap(values));
      chain.doFilter(body == null ? request : body, response);
    } else {
      refuse(response, Refused.of((Deny) decision));
    }
  }

  /** Several headers of one name as HTTP joins them; null when there is none. */
  private static String joined(HttpServletRequest request, String name) {
    var values = request.getHeaders(name);
    return values == null || !values.hasMoreElements() ? null : String.join(", ", Collections.list(values));
  }

  /** Builds a filter. */
  public static final class Builder {
    private final Guard guard;
    private final List<Route> routes = new ArrayList<>();
    private int maxBodyBytes = 65_536;

    private Builder(Guard guard) {
      this.guard = guard;
    }

    /**
     * What calls of the path must meet. Of two that match, the first counts.
     *
     * @param method {@code GET}, {@code POST}, …, in capitals
     * @param path whole segments, with variables as {@code /notes/{note_id}}
     * @throws IllegalArgumentException when the requirement cannot be checked there
     */
    public Builder path(String method, String path, Requirement requirement) {
      if (!method.matches("[A-Z]+")) {
        throw new IllegalArgumentException("\"" + method + "\" is not a method in capitals");
      }
      add(method, new PathTemplate(path), requirement);
      return this;
    }

    /** The longest JSON body that a requirement may have to be read from. 65,536 bytes. */
    public Builder maxBodyBytes(int value) {
      maxBodyBytes = value;
      return this;
    }

    /** The filter. */
    public GuardFilter build() {
      if (routes.isEmpty()) throw new IllegalArgumentException("a filter must have at least one path");
      return new GuardFilter(routes, maxBodyBytes);
    }

    private void add(String method, PathTemplate path, Requirement requirement) {
      var rule =
          new Rule(
              guard,
              requirement,
              (from, field) ->
                  switch (from) {
                    case PATH -> path != null && path.names().contains(field);
                    case BODY -> !field.isEmpty();
                    case HEADER -> HEADER.matcher(field).matches();
                    default -> false;
                  });
      routes.add(new Route(method, path, rule, requirement.checks().anyMatch(Builder::readsBody)));
    }

    private static boolean readsBody(Requirement check) {
      return (check instanceof Requirement.Tenant tenant && tenant.from() == Source.BODY)
          || (check instanceof Requirement.ResourceAction action && action.from() == Source.BODY);
    }
  }
}
