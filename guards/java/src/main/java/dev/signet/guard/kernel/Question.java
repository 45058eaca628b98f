package dev.signet.guard.kernel;

import dev.signet.guard.Caller;
import dev.signet.guard.Liveness;
import dev.signet.guard.PermissionSnapshot;
import dev.signet.guard.RequestFacts;
import dev.signet.guard.Requirement;
import dev.signet.guard.Requirement.Freshness;

/**
 * Everything that a decision rests on.
 *
 * @param caller who calls, or why that is not known
 * @param requirement what is asked of the caller
 * @param issuer the {@code iss} that is taken
 * @param audience the {@code aud} that is taken
 * @param appId the app that the service belongs to; null where it serves every app
 * @param request what the request says
 * @param liveness null: nothing is known but that the token was issued, so what is known is as old as the token
 * @param defaultFreshness holds where the requirement says nothing
 * @param snapshot what the principal was granted; null where nobody asked, and then no permission is held
 * @param nowMs milliseconds since the Unix epoch
 */
public record Question(
    Caller caller,
    Requirement requirement,
    String issuer,
    String audience,
    String appId,
    RequestFacts request,
    Liveness liveness,
    Freshness defaultFreshness,
    PermissionSnapshot snapshot,
    long nowMs) {}
