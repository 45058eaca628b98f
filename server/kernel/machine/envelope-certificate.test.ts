import { describe, expect, test } from "vitest"
import { newId } from "../ids.ts"
import { buildCertificateClaims, certificateSeconds, parseCertificateClaims } from "./envelope-certificate.ts"

const nowSeconds = 1_700_000_000
const account = {
  principalId: newId("prn", 1, new Uint8Array(10).fill(1)),
  clientId: "svc-notes",
  appId: newId("app", 1, new Uint8Array(10).fill(2)),
  ownedAudiences: ["svc-notes"],
}
const key = { kid: "k1", x: "x1", y: "y1" }
const mailboxes = ["svc-mail/*"]
const claims = buildCertificateClaims({ issuer: "https://auth.example", account, key, mailboxes, nowSeconds })
const jwk = { kty: "EC", crv: "P-256", ...key }

describe("a certificate of an envelope key", () => {
  test("parses as it was built, and lives for a day", () => {
    expect(parseCertificateClaims(claims)).toEqual({
      ...key,
      principalId: account.principalId,
      clientId: account.clientId,
      appId: account.appId,
      mailboxes,
      ownedAudiences: account.ownedAudiences,
      issuedAtMs: nowSeconds * 1_000,
    })
    expect(claims).toMatchObject({ nbf: nowSeconds, exp: nowSeconds + certificateSeconds })
    expect(parseCertificateClaims({ ...claims, mbx: [], own: [] })).toMatchObject({ mailboxes: [], ownedAudiences: [] })
  })

  const notText: unknown[] = [undefined, "", 7, ["text"]]
  const notTexts: unknown[] = [undefined, "svc-notes", [""], ["svc-notes", 7], {}]
  test.each<[string, Record<string, unknown[]>]>([
    ["principal", { sub: [...notText, account.appId, "prn_x"] }],
    ["app", { app_id: [...notText, account.principalId] }],
    ["client", { client_id: notText }],
    ["key", { cnf: [undefined, null, "jwk", [], [jwk], {}, { jwk: null }, { jwk: "x" }, { jwk: [] }, { jwk: {} }] }],
    ["list of mailboxes", { mbx: notTexts }],
    ["list of audiences", { own: notTexts }],
    ["begin", { iat: [undefined, "1", null], nbf: [undefined, "1", null] }],
    ["end", { exp: [undefined, String(nowSeconds + 60), null, nowSeconds + certificateSeconds + 1] }],
  ])("is refused with a wrong %s", (_, wrong) => {
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values) {
        expect(parseCertificateClaims({ ...claims, [name]: value }), `${name}: ${JSON.stringify(value)}`).toBe(
          "ENVELOPE_CERTIFICATE_INVALID",
        )
      }
    }
  })

  test.each(["kty", "crv", "kid", "x", "y"])("is rejected for a key with a wrong %s", (name) => {
    for (const value of [...notText, ...(["kty", "crv"].includes(name) ? ["OKP", "P-384"] : [])]) {
      expect(parseCertificateClaims({ ...claims, cnf: { jwk: { ...jwk, [name]: value } } })).toBe(
        "ENVELOPE_CERTIFICATE_INVALID",
      )
    }
  })
})
