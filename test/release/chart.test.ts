// The chart as Helm renders it, checked by kubeconform with the schemas of Kubernetes that a package of PyPI carries.
// .ci/run builds both programs from their Go modules.
import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { parse, parseAllDocuments } from "yaml"

const chart = "deploy/chart"
const { SIGNET_HELM: helm = "", SIGNET_KUBECONFORM: kubeconform = "", SIGNET_KUBERNETES: schemas = "" } = process.env
const missing = [
  ...(helm ? [] : ["SIGNET_HELM"]),
  ...(kubeconform ? [] : ["SIGNET_KUBECONFORM"]),
  ...(schemas ? [] : ["SIGNET_KUBERNETES"]),
]
const name = `the chart with Helm${missing.length > 0 ? ` (skipped: nothing in ${missing.join()})` : ""}`

/** The oldest version that Chart.yaml accepts, one between, and the newest of the package. */
const versions = ["1.30.0", "1.34.0", "1.37.0"]

const required = { issuer: "https://auth.example.com", secretName: "signet" }
const most = {
  ...required,
  replicas: 5,
  image: { repository: "registry.example.com/signet-server", tag: "0.1.0", pullPolicy: "Always" },
  imagePullSecrets: [{ name: "registry" }],
  settings: { SIGNET_TRUSTED_HOPS: "2", SIGNET_BLOBS: "s3" },
  issuerKeySet: "signed",
  attachmentsClaim: "files",
  service: { type: "LoadBalancer", port: 443 },
  podDisruptionBudget: { maxUnavailable: "50%" },
  serviceMonitor: { enabled: true },
  podAnnotations: { "example.com/team": "identity" },
  nodeSelector: { "kubernetes.io/arch": "arm64" },
  tolerations: [{ key: "spot", operator: "Exists", effect: "NoSchedule" }],
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [] } },
}

test("the chart accepts no version of Kubernetes that is older than the oldest one of this test", () => {
  const { kubeVersion } = parse(readFileSync(join(chart, "Chart.yaml"), "utf8"))
  expect(kubeVersion).toBe(`>=${versions[0]}-0`)
})

describe.skipIf(missing.length > 0)(name, () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "signet-chart-"))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  /** @returns The standard output. @throws Error with Helm's message. */
  function run(command: "lint" | "template", values: object, version: string): string {
    const file = join(folder, "values.yaml")
    writeFileSync(file, JSON.stringify(values))
    const named = command === "template" ? ["signet", chart] : [chart, "--strict"]
    const args = [command, ...named, "--kube-version", version, "--values", file]
    return execFileSync(helm, args, { encoding: "utf8", stdio: "pipe" })
  }

  /** @returns What kubeconform says about each object; it refuses fields that Kubernetes does not know. */
  function check(rendered: string, version: string) {
    const options = ["-strict", "-output", "json", "-verbose", "-kubernetes-version", version]
    const location = `${writeSchemas(join(folder, version), rendered, version)}/{{.ResourceKind}}{{.KindSuffix}}.json`
    // An object of the Prometheus operator, which the package has no schema for.
    const args = [...options, "-schema-location", location, "-skip", "ServiceMonitor", "-"]
    const { status, stdout } = spawnSync(kubeconform, args, { input: rendered, encoding: "utf8" })
    const { resources } = JSON.parse(stdout) as { resources: { kind: string; status: string; msg: string }[] }
    return { status, resources }
  }

  test.each(versions)("passes its linter for Kubernetes %s", (version) => {
    expect(run("lint", required, version)).toContain("0 chart(s) failed")
  })

  test.each(versions)("renders objects that Kubernetes %s knows", (version) => {
    for (const values of [required, most]) {
      const rendered = run("template", values, version)
      const { status, resources } = check(rendered, version)
      const refused = resources.filter((one) => !/^status(Valid|Skipped)$/.test(one.status))
      expect(refused).toEqual([])
      expect(status).toBe(0)
      const kinds = resources.filter((one) => one.status === "statusValid").map(({ kind }) => kind)
      expect(kinds).toEqual(expect.arrayContaining(["Deployment", "Service", "ConfigMap", "PodDisruptionBudget"]))
    }
  })

  test("is refused by kubeconform with a field that is misspelled", () => {
    const rendered = run("template", required, "1.34.0")
    const { status, resources } = check(rendered.replace("readOnlyRootFilesystem", "readOnlyRootFileSystem"), "1.34.0")
    expect(status).toBe(1)
    expect(resources.find(({ kind }) => kind === "Deployment")?.msg).toContain("readOnlyRootFileSystem")
  })

  test("is refused for a version of Kubernetes without a sleep before the stop", () => {
    expect(() => run("template", required, "1.29.0")).toThrow("incompatible with Kubernetes v1.29.0")
  })

  test.each<[string, object, string]>([
    ["no issuer and no secret", {}, "issuer"],
    ["an issuer without TLS", { ...required, issuer: "http://auth.example.com" }, "issuer"],
    ["an issuer with a path", { ...required, issuer: "https://example.com/auth" }, "issuer"],
    ["an empty secret", { ...required, secretName: "" }, "secretName"],
    ["no replica", { ...required, replicas: 0 }, "replicas"],
    ["a setting that is no text", { ...required, settings: { SIGNET_TRUSTED_HOPS: 1 } }, "SIGNET_TRUSTED_HOPS"],
    ["a port that is none", { ...required, service: { port: 70_000 } }, "port"],
    ["a value that is misspelled", { ...required, replicaCount: 3 }, "replicaCount"],
  ])("refuses to install with %s", (_, values, part) => {
    expect(() => run("template", values, "1.34.0")).toThrow(part)
  })
})

/** The schemas of the objects, with references that kubeconform resolves. @returns Their folder. */
function writeSchemas(into: string, rendered: string, version: string): string {
  const from = join(schemas, `v${version}-local-strict`)
  const names = parseAllDocuments(rendered)
    .map((document) => document.toJS() as { kind: string; apiVersion: string })
    .filter(({ kind }) => kind !== "ServiceMonitor")
    .map(({ kind, apiVersion }) => `${kind}-${apiVersion.replace(/(\.[^/]*)?\//, "-")}`.toLowerCase())
  mkdirSync(into, { recursive: true })
  for (const name of ["_definitions", ...new Set(names)]) {
    const text = readFileSync(join(from, `${name}.json`), "utf8")
    const { $id: _, ...schema } = JSON.parse(text.replaceAll('"/api/_definitions.json#', '"_definitions.json#'))
    writeFileSync(join(into, `${name}.json`), JSON.stringify(schema))
  }
  return into
}
