import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { create, type DescMethod, setExtension, toBinary } from "@bufbuild/protobuf"
import { FileDescriptorSetSchema, MethodOptionsSchema } from "@bufbuild/protobuf/wkt"
import { SessionService } from "@signet/proto/auth/v1/session_service"
import { AuthRequirementSchema, requires } from "@signet/proto/authz/v1/requirement"
import { describe, expect, test } from "vitest"
import { isLong } from "../../../test/support/effort.ts"
import { methodsOf, readContract } from "./contract.ts"
import { runPolicyFile } from "./run.ts"
import { testPolicyFiles } from "./test-files.ts"

const root = join(import.meta.dirname, "../../..")
const example = "docs/examples/policy/notes.policy.yaml"

/** The output of `policy test` for a file with this text, or for these files. */
function policyTest(files: string | Readonly<Record<string, string | Uint8Array>>, options: object = {}) {
  const all = typeof files === "string" ? { "x.yaml": files } : files
  const out: string[] = []
  const complaints: string[] = []
  const code = testPolicyFiles(
    { files: Object.keys(all).filter((name) => name.endsWith(".yaml")), contracts: [], explain: false, ...options },
    {
      read(path) {
        const content = all[path]
        if (content === undefined) throw new Error("no such file")
        return typeof content === "string" ? new TextEncoder().encode(content) : content
      },
      print: (line) => out.push(line),
      complain: (line) => complaints.push(line),
    },
  )
  return { code, out, complaints }
}

test.each([
  ["example", readFileSync(join(root, example), "utf8"), 17],
  [
    "page",
    /```yaml\n([\s\S]*?)```/.exec(readFileSync(join(root, "docs/how-to/policy-tests.md"), "utf8"))?.[1] ?? "",
    2,
  ],
])("the %s in docs is decided as the page states", (_, text, count) => {
  const results = runPolicyFile(text, methodsOf([]))
  expect(results.filter(({ passed }) => !passed)).toEqual([])
  expect(results).toHaveLength(count)
})

const small = `
callers: {ann: {scopes: [notes.read]}}
requirements: {reads: {scope: notes.read}, writes: {scope: notes.write}}
cases:
  - {name: reading, requirement: reads, expect: {ann: allow}}
  - name: writing
    requirement: writes
    expect:
      ann: OUTCOME
`

describe("a test", () => {
  test.each(["MISSING_SCOPE", "MISSING_SCOPE notes.write"])("that expects %s passes", (outcome) => {
    expect(policyTest(small.replace("OUTCOME", outcome))).toEqual({
      code: 0,
      out: ["✓ reading: ann: allow", "✓ writing: ann: MISSING_SCOPE notes.write", "2 as expected, 0 not"],
      complaints: [],
    })
  })

  test.each(["allow", "MISSING_ROLE", "MISSING_SCOPE notes"])(
    "that expects %s fails with an explanation",
    (outcome) => {
      expect(policyTest(small.replace("OUTCOME", outcome))).toEqual({
        code: 1,
        out: [
          "✓ reading: ann: allow",
          `✗ writing: ann: expected ${outcome} (x.yaml:9:12)`,
          "    MISSING_SCOPE notes.write: 403, step 6, the access token does not have the required scope",
          "      USER ann of app, with notes.read",
          "      ✗ scope(notes.write): step 6, MISSING_SCOPE ← this decides",
          "          the token has notes.read",
          "1 as expected, 1 not",
        ],
        complaints: [],
      })
    },
  )

  test("explains every decision on request", () => {
    const { out } = policyTest(small.replace("OUTCOME", "MISSING_SCOPE"), { explain: true })
    expect(out.slice(0, 3)).toEqual(["✓ reading: ann: allow", "    allow", "      USER ann of app, with notes.read"])
  })
})

const ask = (of: string) => `requirements: {a: ${of}}\ncases: [{name: n, requirement: a, expect: {nobody: allow}}]`
const withCaller = (of: string) => `callers: {ann: ${of}}\n${ask("{scope: s}")}`
const withCase = (of: string) => `callers: {ann: {}}\ncases: [${of}]`

describe("the error of an invalid file states its position:", () => {
  test.each<[string, string, string]>([
    ["no YAML", "cases: [", `1:9: Flow sequence in block collection must be sufficiently indented`],
    ["a name twice", "app: a\napp: b", "2:1: Map keys must be unique"],
    ["nothing", "", "1:1: this must be a map"],
    ["no cases", "app: a", "1:1: the file has no cases"],
    ["a name that is not known", "rolls: {}", `1:1: "rolls" is not known here; there is app, now, roles`],
    ["a list for a map", "cases: {}", "1:8: this must be a list"],
    ["a text for a list", "scopes: {s: p}\ncases: []", "1:13: this must be a list"],
    ["no time", "now: yesterday", "1:6: this must be a time such as 2026-01-01T00:00:00Z"],
    ["a day that is none", "now: 2026-02-31T25:00:00Z", "1:6: this must be a time"],
    ["a resource without a type", "resources: {n: {}}\ncases: []", "1:16: a resource must have a type"],
    ["a requirement with a typo", ask("{scop: a}"), "1:19: cannot decode message signet.authz.v1.AuthRequirement"],
    ["a requirement must have a check", ask("{}"), "1:19: a requirement must have a check"],
    ["an empty composite", ask("{any_of: []}"), "1:19: an empty anyOf"],
    ["public in a composite", ask("{all_of: [{public: true}]}"), "1:19: public inside a composite"],
    [
      "no such RPC",
      withCase("{name: n, requirement: a.B.C, expect: {ann: allow}}"),
      `2:32: unknown requirement or RPC "a.B.C"`,
    ],
    ["another kind", withCaller("{kind: ROBOT}"), "1:23: this must be one of: USER, SERVICE"],
    ["no such role", withCaller("{grants: [{role: boss}]}"), `1:33: unknown role "boss"`],
    [
      "no such resource",
      `roles: {r: {}}\n${withCaller("{grants: [{role: r, resource: n}]}")}`,
      `2:46: unknown resource "n"`,
    ],
    [
      "a resource in two places",
      `roles: {r: {}}\nresources: {n: {type: t}}\n${withCaller("{grants: [{role: r, resource: n, tenant: t}]}")}`,
      "3:26: a grant on a resource must be in the resource's tenant and context",
    ],
    ["a number for a text", "app: 5\ncases: []", "1:6: this must be a non-empty string"],
    ["an empty text", 'app: ""\ncases: []', "1:6: this must be a non-empty string"],
    ["a text for a number", withCaller('{issued_seconds_ago: "5"}'), "1:37: this must be a number of at least 0"],
    ["a text for a flag", "roles: {r: {inheritable: maybe}}\ncases: []", "1:26: this must be true or false"],
    ["an alias with the wrong type", "app: &a notes\ncases: *a", "2:8: this must be a list"],
    ["a check without a value", ask("{scope: ~}"), "1:19: a requirement must have a check"],
    ["a number below 0", withCaller("{issued_seconds_ago: -1}"), "1:37: this must be a number of at least 0"],
    [
      "a case that expects nothing",
      withCase("{name: n, requirement: {scope: s}, expect: {}}"),
      "2:52: expect must name at least one caller",
    ],
    [
      "a case without a name",
      withCase("{requirement: {scope: s}, expect: {ann: allow}}"),
      "2:9: a case must have name",
    ],
    [
      "no such caller",
      withCase("{name: n, requirement: {scope: s}, expect: {bob: allow}}"),
      `2:58: unknown caller "bob"`,
    ],
    [
      "no such reason",
      withCase("{name: n, requirement: {scope: s}, expect: {ann: NO}}"),
      `2:58: "NO" must be allow, or a reason`,
    ],
    [
      "allow, and more",
      withCase("{name: n, requirement: {scope: s}, expect: {ann: allow it}}"),
      "must be allow, or a reason",
    ],
    [
      "a field that nothing reads",
      withCase("{name: n, requirement: {tenant: {from: BODY, field: t}}, request: {x: y}, expect: {ann: allow}}"),
      `2:79: the requirement does not use "x"; it uses t`,
    ],
    ...["x", '""'].map((field): [string, string, string] => [
      `a field ${field} of a requirement that reads none`,
      withCase(`{name: n, requirement: {tenant: {from: TOKEN}}, request: {${field}: y}, expect: {ann: allow}}`),
      `the requirement does not use "${field === "x" ? "x" : ""}"; it uses nothing`,
    ]),
  ])("%s", (_, text, complaint) => {
    const { code, complaints } = policyTest(text)
    expect(complaints.join("\n")).toContain(complaint)
    expect(complaints).toHaveLength(1)
    expect(complaints[0]).toMatch(/^x\.yaml:\d+:\d+: /)
    expect(code).toBe(2)
  })

  test("and does not prevent other files from being tested", () => {
    const { code, out, complaints } = policyTest({ "a.yaml": "rolls: {}", "b.yaml": small.replace("OUTCOME", "allow") })
    expect([code, out.at(-1), complaints.length]).toEqual([2, "1 as expected, 1 not", 1])
  })
})

describe("RPCs", () => {
  test("of every Signet service are found", () => {
    const folder = join(root, "proto/signet")
    const services = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".proto"))
      .flatMap((path) => {
        const text = readFileSync(join(folder, path), "utf8")
        const [, packageName] = /^package (.*);$/m.exec(text) ?? []
        // Programs call these in their own process: no guard is between.
        if (packageName === "signet.client.v1") return []
        return [...text.matchAll(/^service (\w+) \{[\s\S]*?^ {2}rpc (\w+)/gm)].map(
          (m) => `${packageName}.${m[1]}.${m[2]}`,
        )
      })
    const find = methodsOf([])
    expect(services.length).toBeGreaterThan(15)
    expect(services.filter((name) => find(name) === undefined)).toEqual([])
    const sessions = SessionService.methods.map(({ name }) => `${SessionService.typeName}.${name}`)
    expect(sessions.map((name) => find(name))).toEqual(SessionService.methods)
    expect(find(`${SessionService.typeName}.Missing`)).toBeUndefined()
  })

  test("of a given contract are found with their requirement", () => {
    const options = create(MethodOptionsSchema)
    setExtension(options, requires, create(AuthRequirementSchema, { check: { case: "scope", value: "notes.write" } }))
    const message = { name: "Empty" }
    const method = { name: "Write", inputType: ".notes.Empty", outputType: ".notes.Empty", options }
    const file = {
      name: "notes.proto",
      package: "notes",
      messageType: [message],
      service: [{ name: "Notes", method: [method] }],
    }
    const contract = toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: [file] }))
    const named = "{name: n, requirement: notes.Notes/Write, expect: {ann: MISSING_SCOPE notes.write}}"
    const files = { "x.yaml": withCase(named), "notes.binpb": contract }
    expect(policyTest(files, { contracts: ["notes.binpb"] })).toMatchObject({ code: 0, complaints: [] })
    expect(policyTest(files, { contracts: ["none.binpb"] })).toMatchObject({
      code: 2,
      complaints: ["none.binpb: no such file"],
    })
    const broken = { ...files, "notes.binpb": new Uint8Array([255]) }
    expect(policyTest(broken, { contracts: ["notes.binpb"] }).complaints.join()).toMatch(/^notes\.binpb: [^,]*$/)
    const method0: DescMethod | undefined = methodsOf([readContract(contract)])("notes.Notes.Write")
    expect(method0?.parent.typeName).toBe("notes.Notes")
  })
})

test("a caller may have a place, an old token, an actor, or be inactive", () => {
  const text = `
app: notes
now: 2026-06-01T12:00:00Z
callers:
  late: {tenant: t, known_seconds_ago: 61}
  stale: {issued_seconds_ago: 700}
  long ago: {signed_in_seconds_ago: 301}
  jobless: {actor: svc-mail, job: j1}
  out: {tenant: t, status: {session: REVOKED}}
  device: {device: phone}
  elsewhere: {app: other}
  in a context: {tenant: t, context: c}
requirements:
  people: {kinds: [USER], allow_delegated: true, max_auth_age_seconds: 300}
cases:
  - name: all
    requirement: people
    target: notes
    job: j2
    expect:
      late: REVOCATION_STATE_STALE
      long ago: STEP_UP_REQUIRED 300
      jobless: JOB_MISMATCH
      out: SESSION_REVOKED
      elsewhere: APP_MISMATCH
      in a context: allow
  - {name: device, requirement: {device: {}}, expect: {device: allow, stale: DEVICE_REQUIRED}}
  - name: tenant
    requirement: {tenant: {from: HEADER, field: x-tenant}}
    request: {x-tenant: t}
    expect: {in a context: allow, device: TENANT_REQUIRED}
`
  expect(policyTest(text).out.filter((line) => line.startsWith("✗"))).toEqual([])
  expect(policyTest(text).code).toBe(0)
})

test("a file may write composites in full, repeat a value by its alias, and grant a role in a context only", () => {
  const text = `
roles: {editor: {permissions: [notes.note.edit]}}
callers:
  here: {tenant: t, context: c, scopes: &scopes [notes.edit], grants: &grants [{role: editor, tenant: t, context: c}]}
  there: {tenant: t, context: d, scopes: *scopes, grants: *grants}
scopes: {notes.edit: [notes.note.edit]}
cases:
  - name: edit
    requirement: {any_of: {of: [{action: notes.note.edit}]}}
    expect: {here: allow, there: MISSING_PERMISSION notes.note.edit}
`
  expect(policyTest(text)).toMatchObject({ code: 0, complaints: [] })
})

test.runIf(isLong)("the program ends with the exit code", () => {
  const run = (...args: string[]): string | number => {
    try {
      execFileSync(process.execPath, [join(root, "server/guard/node/policy.ts"), ...args], { cwd: root, stdio: "pipe" })
      return 0
    } catch (error) {
      return error instanceof Error && "status" in error ? Number(error.status) : String(error)
    }
  }
  // Signet's own contract image serves as the given one.
  const withContract = run("test", example, "--contract", join(root, "contract/v1.binpb"))
  expect([withContract, run("test"), run("prove", example)]).toEqual([0, 2, 2])
})
