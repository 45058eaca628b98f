// Tokens that somebody would try. What ours says of each is what every language says.
import { createIssuer, encode, ids } from "../../../server/guard/testing/issuer.ts"

type Issuer = ReturnType<typeof createIssuer>

const actor = { sub: ids.service, principal_type: "service", client_id: "svc-mail" }
const onBehalf = { gty: "on_behalf_of", sid: undefined, osid: ids.session, job_id: "job-1", act: actor }
const service = {
  sub: ids.service,
  principal_type: "service",
  gty: "client_credentials",
  sid: undefined,
  identity_id: undefined,
  auth_time: undefined,
}
const chain = (depth: number): object => (depth === 1 ? actor : { ...actor, act: chain(depth - 1) })

/** The issuer's clock is the real one: the other side has no other. */
export function makeIssuer(): Issuer {
  const issuer = createIssuer()
  issuer.pass(Date.now() - issuer.clock.nowMs())
  return issuer
}

/** Authorization headers, by what is the matter with them; null for none. */
export function headersOf(issuer: Issuer): Readonly<Record<string, string | null>> {
  const { token, signParts, header, claims } = issuer
  const now = Math.floor(issuer.clock.nowMs() / 1_000)
  const bearer = (text: string) => `Bearer ${text}`
  const good = token()
  const [head = "", payload = "", signature = ""] = good.split(".")
  const flipped = `${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`
  const claimed = (change: object) => bearer(token(change))
  const headed = (change: object) => bearer(token({}, change))
  return {
    "a good one": bearer(good),
    "a good one in lower case": `bearer ${good}`,
    "a service's": claimed(service),
    "one with a tenant": claimed({ tenant_id: ids.tenant }),
    "a personal access token's": claimed({ gty: "pat", sid: undefined, cred_id: "pac_1", auth_time: undefined }),
    "a delegated one": claimed(onBehalf),
    "one with a chain of three": claimed({ ...onBehalf, act: chain(3) }),
    "one with a claim that nobody knows": claimed({ news: { deep: [1, null, "x"] } }),
    none: null,
    "no bearer": "Basic abc",
    "two at once": `${bearer(good)}, ${bearer(good)}`,
    "a personal access token": bearer("sgpat_abc"),
    "a refresh token": bearer("sgrt_abc"),
    "not a JWT": bearer("abc"),
    "four parts": bearer(`${good}.x`),
    "too long": bearer(`${good}${"A".repeat(8_192)}`),
    "an altered signature": bearer(`${head}.${payload}.${flipped}`),
    "no signature": bearer(`${head}.${payload}.`),
    "a padded signature": bearer(`${good}=`),
    "an altered payload": bearer(`${head}.${encode({ ...claims(), scp: ["notes.write"] })}.${signature}`),
    "a stranger's": bearer(createIssuer().token({ iat: now, nbf: now, exp: now + 600 })),
    "alg none": headed({ alg: "none" }),
    "alg HS256": headed({ alg: "HS256" }),
    "alg in lower case": headed({ alg: "es256" }),
    "another typ": headed({ typ: "JWT" }),
    "typ with its prefix": headed({ typ: "application/at+jwt" }),
    "no typ": headed({ typ: undefined }),
    "an unknown kid": headed({ kid: "key-2" }),
    "a kid that is a path": headed({ kid: "../key-1" }),
    "no kid": headed({ kid: undefined }),
    "its own key": headed({ jwk: issuer.jwk }),
    "a critical extension": headed({ crit: ["exp"] }),
    "names in other capitals": bearer(signParts(encode({ ALG: "ES256", Typ: "at+jwt", KID: "key-1" }), payload)),
    "a name twice": bearer(signParts(encode(`{"alg":"none","alg":"ES256","typ":"at+jwt","kid":"key-1"}`), payload)),
    "a header that is a list": bearer(signParts(encode("[]"), payload)),
    "a payload that is no JSON": bearer(signParts(encode(header), encode("{"))),
    "a provider's": bearer(token({ iss: "https://idp.example" }, { typ: "JWT", alg: "RS256" })),
    "another issuer's": claimed({ iss: "https://other.example" }),
    "for another service": claimed({ aud: "svc-other" }),
    "for two services": claimed({ aud: [issuer.audience, "svc-other"] }),
    "an issuer in other capitals": claimed({ iss: undefined, ISS: issuer.issuer }),
    expired: claimed({ iat: now - 700, nbf: now - 700, exp: now - 100 }),
    "expired, within the skew": claimed({ iat: now - 600, nbf: now - 600, exp: now - 10 }),
    "not yet valid": claimed({ nbf: now + 100 }),
    "issued in the future": claimed({ iat: now + 100, exp: now + 200 }),
    "for an hour": claimed({ exp: now + 3_600 }),
    "no exp": claimed({ exp: undefined }),
    "an exp that is text": claimed({ exp: String(now + 600) }),
    "no nbf": claimed({ nbf: undefined }),
    "a fraction of a second": claimed({ iat: now - 0.5 }),
    "an app for a tenant": claimed({ tenant_id: ids.app }),
    "no principal": claimed({ sub: undefined }),
    "a user without an identity": claimed({ identity_id: undefined }),
    "a service with a session": claimed({ ...service, sid: ids.session }),
    "a session with an actor": claimed({ act: actor, job_id: "job-1" }),
    "a delegation without an actor": claimed({ ...onBehalf, act: undefined }),
    "a chain of four": claimed({ ...onBehalf, act: chain(4) }),
    "scopes as text": claimed({ scp: "notes.read" }),
    "a negative perm_ver": claimed({ perm_ver: -1 }),
    "a device that is none": claimed({ did: "phone" }),
  }
}
