// The files of deploy/ for one machine: Compose, and the unit, which systemd checks.
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, test } from "vitest"
import { parse } from "yaml"

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
