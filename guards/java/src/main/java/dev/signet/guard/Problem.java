package dev.signet.guard;

import dev.signet.guard.token.Json;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** A refusal as a problem (RFC 9457), with the reason, domain and metadata of google.rpc.ErrorInfo. */
public final class Problem {
  /** The content type. */
  public static final String CONTENT_TYPE = "application/problem+json";

  private Problem() {}

  /** The problem as JSON. */
  public static String of(Refused refused) {
    var reason = refused.reason();
    var metadata =
        new TreeMap<>(refused.metadata())
            .entrySet().stream()
                .map(one -> Json.quote(one.getKey()) + ":" + Json.quote(one.getValue()))
                .collect(Collectors.joining(",", "{", "}"));
    return "{\"type\":" + Json.quote("urn:signet:reason:" + reason.name())
        + ",\"title\":" + Json.quote(reason.message())
        + ",\"status\":" + reason.status()
        + ",\"detail\":" + Json.quote(refused.getMessage())
        + ",\"reason\":" + Json.quote(reason.name())
        + ",\"domain\":\"signet\",\"metadata\":" + metadata + "}";
  }
}
