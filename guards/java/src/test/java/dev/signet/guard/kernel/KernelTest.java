package dev.signet.guard.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.signet.guard.AuthContext;
import dev.signet.guard.AuthContext.PrincipalKind;
import dev.signet.guard.Caller;
import dev.signet.guard.Decision;
import dev.signet.guard.PermissionSnapshot;
import dev.signet.guard.PermissionSnapshot.Grant;
import dev.signet.guard.PermissionSnapshot.Resource;
import dev.signet.guard.PermissionSnapshot.Role;
import dev.signet.guard.RequestFacts;
import dev.signet.guard.Requirement;
import dev.signet.guard.Requirement.Freshness;
import dev.signet.guard.Requirement.OnStale;
import dev.signet.guard.Requirement.Source;
import dev.signet.guard.ResourceRef;
import dev.signet.guard.Vectors;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Rules that no vector reaches by a token: a token says less than a context can. */
class KernelTest {
  private static final long NOW = 1_700_000_000_000L;

  private final Map<String, Object> claims =
      new HashMap<>(Vectors.map(Vectors.read("decisions.json").get("claims")));
  private final Requirement anybody = Requirement.kinds(PrincipalKind.USER, PrincipalKind.SERVICE).orOnBehalf();

  private String decide(AuthContext context, Requirement requirement, RequestFacts facts, PermissionSnapshot held) {
    var question =
        new Question(
            Caller.known(context, ""), requirement, "https://auth.example", "svc-notes", null, facts, null,
            new Freshness(Long.MAX_VALUE, OnStale.DENY), held, NOW);
    var decision = Authorizer.authorize(question);
    if (decision instanceof Decision.Deny deny) return deny.reason().name();
    return ((Decision.Allow) decision).context() == null ? "nobody" : "allow";
  }

  private String decide(AuthContext context, String jobId) {
    return decide(context, anybody, new RequestFacts(Map.of(), Map.of(), jobId), null);
  }

  private AuthContext user(Map<String, Object> change) {
    var changed = new HashMap<>(claims);
    changed.putAll(change);
    changed.values().removeIf(value -> value == null);
    return Claims.contextOf(changed).value();
  }

  private AuthContext delegated(long expSeconds, int depth) {
    var change = new HashMap<String, Object>();
    change.put("gty", "on_behalf_of");
    change.put("sid", null);
    change.put("job_id", "job-1");
    change.put("iat", NOW / 1_000 - 100);
    change.put("exp", expSeconds);
    change.put(
        "act", Map.of("sub", "prn_0000000002e008000000000000", "principal_type", "service", "client_id", "svc-mail"));
    var of = user(change);
    var told = of.delegation();
    var delegation =
        new AuthContext.Delegation(
            told.actor(), told.actorClientId(), told.jobId(), null, told.expiresAtMs(), depth);
    return new AuthContext(
        of.principal(), of.identityId(), of.appId(), of.tenantId(), null, null, null, of.tokenId(), null, of.issuer(),
        of.audience(), of.scopes(), of.grants(), of.method(), of.actor(), delegation, of.claims(),
        of.authTimeMs(), of.issuedAtMs(), of.expiresAtMs(), of.permVer(), of.versions());
  }

  @TestFactory
  Stream<DynamicTest> decidesAboutDelegationsAndPlaces() {
    var now = NOW / 1_000;
    var tests = new ArrayList<DynamicTest>();
    tests.add(test("a delegation", "allow", () -> decide(delegated(now + 1, 3), null)));
    tests.add(test("its job", "allow", () -> decide(delegated(now + 1, 1), "job-1")));
    tests.add(test("another job", "JOB_MISMATCH", () -> decide(delegated(now + 1, 1), "job-2")));
    tests.add(test("within the skew", "allow", () -> decide(delegated(now - 29, 1), null)));
    tests.add(test("after it", "DELEGATION_EXPIRED", () -> decide(delegated(now - 30, 1), null)));
    tests.add(test("four services", "DELEGATION_CHAIN_TOO_DEEP", () -> decide(delegated(now + 1, 4), null)));
    tests.add(
        test("another issuer", "ISSUER_MISMATCH", () -> decide(user(Map.of("iss", "https://other.example")), null)));
    tests.add(test("another audience", "AUDIENCE_MISMATCH", () -> decide(user(Map.of("aud", "svc-mail")), null)));
    tests.add(test("a body credential of another audience", "nobody", () -> bodyCredential("svc-mail")));
    tests.add(test("a body credential of this one", "allow", () -> bodyCredential("svc-notes")));
    tests.add(test("a grant on a resource of another place", "RESOURCE_NOT_GRANTED", this::grantElsewhere));
    return tests.stream();
  }

  private static DynamicTest test(String name, String expected, java.util.function.Supplier<String> decided) {
    return DynamicTest.dynamicTest(name, () -> assertEquals(expected, decided.get()));
  }

  private String bodyCredential(String audience) {
    var facts = new RequestFacts(Map.of(), Map.of(), null);
    return decide(user(Map.of("aud", audience)), Requirement.bodyCredential(), facts, null);
  }

  /** Held somewhere in the tenant, and on a resource of the same id that belongs to no tenant. */
  private String grantElsewhere() {
    var caller = user(Map.of("scp", List.of("notes.write")));
    var role = new Role("resident", Set.of("notes.note.edit"), false);
    var grants =
        List.of(
            new Grant("r", caller.appId(), caller.tenantId(), null, null, null),
            new Grant("r", caller.appId(), null, null, new Resource("note", "own"), null));
    var held = new PermissionSnapshot(Map.of("r", role), Map.of("notes.write", Set.of("notes.note.edit")), grants);
    var requirement = Requirement.resourceAction("notes.note.edit", "note", Source.BODY, "note.id");
    var note = new ResourceRef("note", "own", caller.appId(), caller.tenantId(), null);
    var key = RequestFacts.resourceKey((Requirement.ResourceAction) requirement);
    return decide(caller, requirement, new RequestFacts(Map.of(), Map.of(key, note), null), held);
  }

  @TestFactory
  Stream<DynamicTest> takesTwoThousandEntries() {
    return Stream.of(2_000, 2_001)
        .map(
            count ->
                DynamicTest.dynamicTest(
                    "" + count,
                    () -> {
                      var statement = Statement.parse(statement(count));
                      if (count > 2_000) assertNull(statement);
                      else assertEquals(count, statement.entries().size());
                    }));
  }

  private static Map<String, Object> statement(long count) {
    var entries = new ArrayList<Map<String, Object>>();
    for (long seq = 1; seq <= count; seq++) {
      entries.add(Map.of("seq", seq, "kind", "TOKEN", "key", "jti_" + seq, "exp", 1_700_000_900L));
    }
    return Map.of(
        "iss", "https://auth.example", "iat", 1_700_000_000L, "log", "log-a", "seq_from", 0L, "seq_to", count, "head",
        count, "entries", entries);
  }
}
