import { expect, test } from "vitest"
import type { Role } from "../administration/records.ts"
import type { AppScope, Membership } from "../records.ts"
import { type AuthorityChange, membershipChange, roleChange, scopesChange } from "./authority-change.ts"

type Member = Pick<Membership, "status" | "scopes">
const member = (status: Member["status"], ...scopes: string[]): Member => ({ status, scopes })

test.each<[string, Member | undefined, Member, AuthorityChange]>([
  ["a new member has more", undefined, member("ACTIVE"), "wider"],
  ["who is asked has nothing yet", undefined, member("INVITED", "a"), "none"],
  ["who asks has nothing yet", undefined, member("REQUESTED"), "none"],
  ["who accepts has more", member("INVITED"), member("ACTIVE"), "wider"],
  ["who declines had nothing", member("INVITED", "a"), member("DECLINED", "a"), "none"],
  ["a profile is no authority", member("ACTIVE", "a"), member("ACTIVE", "a"), "none"],
  ["a scope more is more", member("ACTIVE"), member("ACTIVE", "a"), "wider"],
  ["a scope less is less", member("ACTIVE", "a", "b"), member("ACTIVE", "a"), "narrower"],
  ["another scope is less", member("ACTIVE", "a"), member("ACTIVE", "b"), "narrower"],
  ["who is suspended has less", member("ACTIVE"), member("SUSPENDED"), "narrower"],
  ["who is suspended before joining has less around", member("REQUESTED"), member("SUSPENDED"), "narrower"],
  ["who comes back has more", member("SUSPENDED", "a"), member("ACTIVE", "a"), "wider"],
  ["who is removed has less", member("ACTIVE"), member("REMOVED"), "narrower"],
  [
    "a suspension that ends with the membership stands in nobody's way",
    member("SUSPENDED"),
    member("REMOVED"),
    "wider",
  ],
])("of a membership: %s", (_, before, after, change) => {
  expect(membershipChange(before, after)).toBe(change)
})

type Powers = Pick<Role, "status" | "permissions" | "inheritable">
const role = (permissions: string[], inheritable = true, status: Role["status"] = "ACTIVE"): Powers => ({
  status,
  permissions,
  inheritable,
})

test.each<[string, Powers | undefined, Powers, AuthorityChange]>([
  ["a new role is more", undefined, role(["a"]), "wider"],
  ["the same is nothing", role(["a", "b"]), role(["b", "a"]), "none"],
  ["a permission more is more", role(["a"]), role(["a", "b"]), "wider"],
  ["a permission less is less", role(["a", "b"]), role(["a"]), "narrower"],
  ["a permission for another is less", role(["a"]), role(["b"]), "narrower"],
  ["what stops at its node is less", role(["a"]), role(["a", "b"], false), "narrower"],
  ["what goes below its node is more", role(["a"], false), role(["a"]), "wider"],
  ["one that ends is less", role(["a"]), role(["a"], true, "ARCHIVED"), "narrower"],
])("of a role: %s", (_, before, after, change) => {
  expect(roleChange(before, after)).toBe(change)
})

const scope = (key: string, change: Partial<AppScope> = {}): AppScope => ({
  key,
  audience: "svc",
  isDefault: false,
  permissions: [],
  ...change,
})

test.each<[string, AppScope[], AppScope[], AuthorityChange]>([
  ["the same in another order is nothing", [scope("a"), scope("b")], [scope("b"), scope("a")], "none"],
  ["a new one is more", [], [scope("a")], "wider"],
  ["one less is less", [scope("a")], [], "narrower"],
  ["one of another audience is less", [scope("a")], [scope("a", { audience: "other" })], "narrower"],
  ["one that nobody holds by default is less", [scope("a", { isDefault: true })], [scope("a")], "narrower"],
  ["one that everybody holds is more", [scope("a")], [scope("a", { isDefault: true })], "wider"],
  ["a permission more is more", [scope("a")], [scope("a", { permissions: ["p"] })], "wider"],
  ["a permission less is less", [scope("a", { permissions: ["p"] })], [scope("a")], "narrower"],
  [
    "a permission that moves to another scope is less",
    [scope("a", { permissions: ["p"] }), scope("b")],
    [scope("a"), scope("b", { permissions: ["p"] })],
    "narrower",
  ],
])("of scopes: %s", (_, before, after, change) => {
  expect(scopesChange(before, after)).toBe(change)
})
