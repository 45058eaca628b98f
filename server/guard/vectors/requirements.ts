// The rows of decisions.md, named by `describe`.
import { describe, type Requirement, type Requirements } from "@signet/kernel/authz/requirement"

const users: Requirement = { is: "kinds", of: ["USER"] }
const services: Requirement = { is: "kinds", of: ["SERVICE"] }
const anybody: Requirement = { is: "kinds", of: ["USER", "SERVICE"] }
const read: Requirement = { is: "scope", scope: "notes.read" }
const write: Requirement = { is: "scope", scope: "notes.write" }
const edit: Requirement = { is: "action", action: "notes.note.edit" }
const note: Requirement = {
  is: "resourceAction",
  action: "notes.note.edit",
  type: "note",
  from: "BODY",
  field: "note.id",
}
const asEditor: Requirement = { is: "role", role: "editor" }
const inBody: Requirement = { is: "tenant", from: "BODY", field: "tenant_id" }
const byMail: Requirement = { is: "delegated", actors: ["svc-mail"] }
const all = (...of: Requirements): Requirement => ({ is: "allOf", of })
const any = (...of: Requirements): Requirement => ({ is: "anyOf", of })
const minute = (onStale: "DENY" | "INTROSPECT" | "ALLOW"): Requirement => ({
  ...anybody,
  freshness: { maxStalenessMs: 60_000, onStale },
})

const listed: readonly Requirement[] = [
  { is: "public" },
  { is: "bodyCredential" },
  users,
  services,
  anybody,
  read,
  write,
  { ...read, allowDelegated: true },
  { ...users, allowDelegated: true },
  { ...users, maxAuthAgeSeconds: 300 },
  { is: "device", proof: false },
  { is: "tenant", from: "TOKEN", field: "" },
  byMail,
  edit,
  { ...edit, allowDelegated: true },
  all(users, read),
  all(users, write),
  any(read, write),
  any(all(users, write), services),
  all(any(users, services), any(write, { ...read, maxAuthAgeSeconds: 300 })),
  any(byMail, users),
  asEditor,
  { ...asEditor, allowDelegated: true },
  any(edit, read),
  all(edit, read),
  inBody,
  { is: "tenant", from: "PATH", field: "tenant_id" },
  all(read, inBody),
  any(services, inBody),
  note,
  { ...note, allowDelegated: true },
  any(note, read),
  all(note, write),
  all(asEditor, read),
  any(asEditor, write),
  minute("DENY"),
  minute("INTROSPECT"),
  minute("ALLOW"),
  any(minute("DENY"), { ...read, freshness: { maxStalenessMs: 600_000, onStale: "DENY" } }),
]

export const requirements: ReadonlyMap<string, Requirement> = new Map(listed.map((one) => [describe(one), one]))
