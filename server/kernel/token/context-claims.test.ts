import { expect, test } from "vitest"
import { newId } from "../ids.ts"
import type { AccessTokenClaims } from "./claims.ts"
import { buildContextClaims } from "./context-claims.ts"

const [time, random] = [1, new Uint8Array(10)] as const

const subject: AccessTokenClaims = {
  iss: "https://auth.example",
  sub: newId("prn", time, random),
  principal_type: "user",
  identity_id: newId("idn", time, random),
  aud: "svc-web",
  app_id: newId("app", time, random),
  scp: ["web.use"],
  perm_ver: 1,
  amr: ["provider"],
  client_id: "web",
  gty: "session",
  sid: newId("ses", time, random),
  did: newId("dev", time, random),
  jti: newId("jti", time, random),
  iat: 1_000,
  nbf: 1_000,
  exp: 1_600,
}
const of = {
  subject,
  sender: newId("prn", time, random),
  tokenId: newId("jti", time, random),
  scopes: ["web.use", "mail.send"],
  nowSeconds: 1_100,
}

test("a context token has the subject's claims, the sender as audience, and no further scope", () => {
  const claims = buildContextClaims({ ...of, endsAtSeconds: undefined })
  expect(claims).toMatchObject({ sub: subject.sub, sid: subject.sid, aud: of.sender, jti: of.tokenId })
  expect([claims.scp, claims.iat, claims.exp]).toEqual([["web.use"], 1_100, 1_100 + 86_400])
})

test("a context token expires no later than the subject's session", () => {
  expect(buildContextClaims({ ...of, endsAtSeconds: 2_000 }).exp).toBe(2_000)
})

test("a context token names no device: the service posts, not the device", () => {
  expect(buildContextClaims({ ...of, endsAtSeconds: undefined })).not.toHaveProperty("did")
})
