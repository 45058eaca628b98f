import { expect, test } from "vitest"
import { policyFault, standingFault } from "./standing.ts"

const app = {
  scopes: [
    { key: "notes.read", audience: "svc-notes", isDefault: true },
    { key: "mail.send", audience: "svc-mail", isDefault: false },
    { key: "auth.x", audience: "auth", isDefault: false },
  ],
}
const of = { app, allowedAudiences: ["svc-notes", "auth"], authAudience: "auth" }

test.each<[string, { audiences: string[]; scopes: string[] }, string | undefined]>([
  ["a policy names what the actor may call", { audiences: ["svc-notes"], scopes: ["notes.read"] }, undefined],
  ["a policy never names the issuer", { audiences: ["svc-notes", "auth"], scopes: ["auth.x"] }, "audiences"],
  ["a policy does not go beyond what the actor may call", { audiences: ["svc-mail"], scopes: [] }, "audiences"],
  ["a policy names scopes that exist", { audiences: ["svc-notes"], scopes: ["notes.none"] }, "scopes"],
  ["a policy names scopes of its audiences", { audiences: ["svc-notes"], scopes: ["mail.send"] }, "scopes"],
])("%s", (_, policy, fault) => {
  expect(policyFault(policy, of)).toBe(fault)
})

const within = {
  policy: { audiences: ["svc-notes"], scopes: ["notes.read", "notes.write"] },
  held: ["notes.read", "notes.admin"],
}
test.each<[string, { audiences: string[]; scopes: string[] }, string | undefined]>([
  ["a delegation stays within both", { audiences: ["svc-notes"], scopes: ["notes.read"] }, undefined],
  ["a delegation names the policy's audiences", { audiences: ["svc-mail"], scopes: [] }, "audiences"],
  ["a delegation names what the user holds", { audiences: ["svc-notes"], scopes: ["notes.write"] }, "scopes"],
  ["a delegation names what the policy has", { audiences: ["svc-notes"], scopes: ["notes.admin"] }, "scopes"],
])("%s", (_, delegation, fault) => {
  expect(standingFault(delegation, within)).toBe(fault)
})
