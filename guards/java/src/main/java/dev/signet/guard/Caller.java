package dev.signet.guard;

import java.util.Objects;

/** The caller that an Authorization header names, or the reason why it is not known. */
public final class Caller {
  private final AuthContext context;
  private final Reason reason;
  private final String token;

  private Caller(AuthContext context, Reason reason, String token) {
    this.context = context;
    this.reason = reason;
    this.token = token;
  }

  /** A caller whose token was verified. Introspection asks for the token itself. */
  public static Caller known(AuthContext context, String token) {
    return new Caller(Objects.requireNonNull(context), null, token);
  }

  /** Nobody that is known. */
  public static Caller unknown(Reason reason) {
    return new Caller(null, Objects.requireNonNull(reason), null);
  }

  /** The caller; null where it is not known. */
  public AuthContext context() {
    return context;
  }

  /** Why the caller is not known; null where it is. */
  public Reason reason() {
    return reason;
  }

  String token() {
    return token;
  }

  /** The same credential with other facts of the caller. */
  Caller withContext(AuthContext other) {
    return new Caller(other, null, token);
  }

  /** Never the token. */
  @Override
  public String toString() {
    return context == null ? "Caller[" + reason + "]" : "Caller[" + context + "]";
  }
}
