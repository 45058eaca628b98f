package dev.signet.guard;

import dev.signet.guard.AuthContext.Versions;
import java.util.Set;

/**
 * What is known of principal, session, credential and membership, and since when.
 *
 * @param facts what is known
 * @param asOfMs when the facts were true; milliseconds since the Unix epoch
 */
public record Liveness(Facts facts, long asOfMs) {

  /** How something stands. */
  public enum Standing {
    /** Active. */
    ACTIVE,
    /** Suspended, locked, deactivated, deleted, ended. */
    INACTIVE,
    /** There is none. */
    ABSENT,
    /** The token names none, so nobody asked. */
    NOT_ASKED
  }

  /** What a revocation is of. */
  public enum Revoked {
    /** The principal. */
    PRINCIPAL,
    /** The session. */
    SESSION,
    /** The credential that the token was obtained with. */
    CREDENTIAL,
    /** The token. */
    TOKEN
  }

  /**
   * A session.
   *
   * @param standing whether it is active
   * @param idleExpiresAtMs when it ends unused; milliseconds since the Unix epoch
   * @param absoluteExpiresAtMs when it ends at the latest
   */
  public record Session(Standing standing, long idleExpiresAtMs, long absoluteExpiresAtMs) {
    /** Active, without an end of its own. */
    public static final Session ACTIVE = new Session(Standing.ACTIVE, Long.MAX_VALUE, Long.MAX_VALUE);
  }

  /**
   * The facts of one call.
   *
   * @param principal the principal
   * @param actor the acting service
   * @param identity the identity
   * @param session the session; null for none
   * @param membership the membership; services need none
   * @param app the app
   * @param tenant NOT_ASKED when the token names none
   * @param context NOT_ASKED when the token names none
   * @param revoked what of these was revoked
   * @param minimum the oldest versions that the token may have been issued under
   */
  public record Facts(
      Standing principal,
      Standing actor,
      Standing identity,
      Session session,
      Standing membership,
      Standing app,
      Standing tenant,
      Standing context,
      Set<Revoked> revoked,
      Versions minimum) {

    /** Everything is active. */
    public static Facts active(AuthContext of) {
      return new Facts(
          Standing.ACTIVE, Standing.ACTIVE, Standing.ACTIVE, Session.ACTIVE, Standing.ACTIVE, Standing.ACTIVE,
          of.tenantId() == null ? Standing.NOT_ASKED : Standing.ACTIVE,
          of.contextId() == null ? Standing.NOT_ASKED : Standing.ACTIVE, Set.of(), Versions.NONE);
    }

    /** The token was revoked, and nothing else is known. */
    public static Facts revokedToken(AuthContext of) {
      var active = active(of);
      return new Facts(
          active.principal, active.actor, active.identity, active.session, active.membership, active.app,
          active.tenant, active.context, Set.of(Revoked.TOKEN), active.minimum);
    }
  }

  /** Asks whether the caller's principal, session, credential and membership are active. Called by many threads. */
  @FunctionalInterface
  public interface Finder {
    /**
     * What is known.
     *
     * @throws Exception when nobody can tell
     */
    Liveness find(AuthContext context) throws Exception;
  }

  /** Asks the issuer whether a token is still good (RFC 7662). Called by many threads. */
  @FunctionalInterface
  public interface Introspector {
    /**
     * What the issuer says.
     *
     * @throws Exception when it does not answer
     */
    Liveness introspect(AuthContext context, String token) throws Exception;
  }
}
