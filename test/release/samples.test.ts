// The files of deploy/ that other programs check: the unit by systemd, the chart by Helm and by Kubernetes' schemas.
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { parse, parseAllDocuments } from "yaml"

const read = (file: string) => readFileSync(join("deploy", file), "utf8")

test("Compose runs the server without rights, on a read-only root, and only loopback reaches it", () => {
  const { signet, database } = parse(read("compose.yaml")).services
  expect(signet).toMatchObject({ read_only: true, cap_drop: ["ALL"], ports: ["127.0.0.1:8080:8080"] })
  expect(database.ports).toBeUndefined()
})

const hasSystemd = existsSync("/usr/bin/systemd-analyze")
test.skipIf(!hasSystemd)(`the unit is valid and hardened${hasSystemd ? "" : " (skipped: no systemd-analyze)"}`, () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-unit-"))
  try {
    const unit = join(folder, "signet.service")
    // systemd reports a program that this machine lacks.
    writeFileSync(
      unit,
      read("systemd/signet.service").replace("ExecStart=/usr/local/bin/node", `ExecStart=${process.execPath}`),
    )
    const verified = spawnSync("systemd-analyze", ["verify", unit], { encoding: "utf8" })
    expect(verified.stdout + verified.stderr).toBe("")
    const judged = execFileSync("systemd-analyze", ["security", "--offline=true", "--threshold=15", unit], {
      encoding: "utf8",
    })
    expect(judged).toMatch(/Overall exposure level for signet\.service: 1\.[0-4]/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

const helm = process.env.SIGNET_HELM ?? ""
const name = `the chart with Helm${helm ? "" : " (skipped: SIGNET_HELM names no program)"}`
describe.skipIf(helm === "")(name, () => {
  const required = ["--set", "issuer=https://auth.example.com", "--set", "secretName=signet"]
  const all = [
    "--set",
    "serviceMonitor.enabled=true",
    "--set",
    "attachmentsClaim=files",
    "--set-string",
    "issuerKeySet=signed",
  ]
  const run = (...args: string[]) => execFileSync(helm, args, { encoding: "utf8", stdio: "pipe" })

  test("passes its linter, and refuses to install without an issuer and a secret", () => {
    expect(run("lint", "deploy/chart", "--strict", "--kube-version", "1.34", ...required)).toContain(
      "0 chart(s) failed",
    )
    expect(() => run("template", "deploy/chart", "--kube-version", "1.34")).toThrow(
      /(?=[\s\S]*secretName)[\s\S]*issuer/,
    )
  })

  test.each([
    ["least", []],
    ["most", all],
  ] as const)("renders objects that Kubernetes knows: with the %s values", (_, more) => {
    const rendered = run("template", "signet", "deploy/chart", "--kube-version", "1.34", ...required, ...more)
    const kinds = parseAllDocuments(rendered).map((document) => document.toJS()?.kind)
    expect(kinds).toEqual(expect.arrayContaining(["Deployment", "Service", "ConfigMap", "PodDisruptionBudget"]))
    const folder = mkdtempSync(join(tmpdir(), "signet-chart-"))
    try {
      const file = join(folder, "rendered.yaml")
      writeFileSync(file, rendered)
      const environment = join(folder, "environment")
      execFileSync("python3", ["-m", "venv", environment])
      execFileSync(join(environment, "bin/pip"), ["install", "--quiet", "kubernetes-validate==1.37.0"], {
        stdio: "ignore",
      })
      // It fails for properties that Kubernetes does not know.
      const check = join(environment, "bin/kubernetes-validate")
      execFileSync(check, ["-k", "1.34", "--strict", "--no-warn", file], { stdio: "pipe" })
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
