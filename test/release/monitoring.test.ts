// Alert rules, the dashboard and the runbooks: every metric exists, every expression parses, every alert is explained.
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parser } from "@prometheus-io/lezer-promql"
import { afterAll, describe, expect, test } from "vitest"
import { parse } from "yaml"
import { createMetrics } from "../../server/node/metrics.ts"

const root = join(import.meta.dirname, "../..")
const read = (path: string) => readFileSync(join(root, path), "utf8")

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly runbook: string }
}
interface Panel {
  readonly title: string
  readonly targets: readonly { readonly expr: string }[]
}

const rules: readonly Rule[] = parse(read("deploy/monitoring/alerts.yaml")).groups.flatMap(
  ({ rules }: { rules: Rule[] }) => rules,
)
const { panels } = JSON.parse(read("deploy/monitoring/dashboard.json")) as { panels: readonly Panel[] }
const expressions: readonly [string, string][] = [
  ...rules.map(({ alert, expr }): [string, string] => [`alert ${alert}`, expr]),
  ...panels.flatMap(({ title, targets }) => targets.map(({ expr }): [string, string] => [`panel ${title}`, expr])),
]

/** The names of metrics in a PromQL expression. @throws Error if it does not parse. */
function metricsIn(expression: string): readonly string[] {
  // Grafana fills its variables in first.
  const text = expression.replaceAll("$__rate_interval", "5m")
  const names: string[] = []
  parser.parse(text).iterate({
    enter(node) {
      if (node.type.isError) throw new Error(`no PromQL at ${node.from}: ${text}`)
      if (node.name === "VectorSelector") names.push(/^[a-zA-Z_:][\w:]*/.exec(text.slice(node.from))?.[0] ?? "")
    },
  })
  return names
}

test("an expression that is no PromQL, and its metrics, are recognized", () => {
  expect(metricsIn('sum by (a) (rate(one_total{b!~"c"}[5m])) / two > 1')).toEqual(["one_total", "two"])
  expect(() => metricsIn("sum by (a (rate(x[5m]))")).toThrow("no PromQL")
})

describe("the metrics of alerts and dashboard", async () => {
  const metrics = await createMetrics().registry.getMetricsAsJSON()
  const known = new Set(
    metrics.flatMap(({ name, type }) =>
      String(type) === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  )
  // Prometheus adds it to each target.
  known.add("up")
  test.each(expressions)("exist: %s", (_, expression) => {
    const names = metricsIn(expression)
    expect(names.length).toBeGreaterThan(0)
    expect(names.filter((name) => !known.has(name))).toEqual([])
  })

  test("of Signet are all on the dashboard", () => {
    const shown = new Set(panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => metricsIn(expr))))
    const own = metrics.filter(({ name }) => name.startsWith("signet_")).map(({ name }) => name)
    const isShown = (name: string) => [name, `${name}_bucket`, `${name}_count`].some((each) => shown.has(each))
    // An age, which only its alert needs.
    expect(own.filter((name) => !isShown(name))).toEqual(["signet_sweep_last_success_timestamp_seconds"])
  })
})

const promtool = process.env.SIGNET_PROMTOOL ?? ""
const withoutPromtool = promtool ? "" : " (skipped: nothing in SIGNET_PROMTOOL)"
describe.skipIf(promtool === "")(`the rules in Prometheus${withoutPromtool}`, () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-rules-"))
  afterAll(() => rmSync(folder, { recursive: true }))
  /** @returns The status, and what promtool says. */
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(promtool, args, { encoding: "utf8" })
    return { status, said: stdout + stderr }
  }
  const write = (name: string, text: string) => {
    const file = join(folder, name)
    writeFileSync(file, text)
    return file
  }
  const alerts = join(root, "deploy/monitoring/alerts.yaml")

  test("are accepted, and a rule that is none is not", () => {
    expect(run("check", "rules", alerts)).toMatchObject({
      status: 0,
      said: expect.stringContaining(`${rules.length} rules`),
    })
    const broken = write("broken.yaml", read("deploy/monitoring/alerts.yaml").replace("expr: up", "expr: up{"))
    expect(run("check", "rules", broken).status).not.toBe(0)
  })

  /** Each metric of the rules for an hour: healthy values, and those of a failure. `a+bx60` grows by b a minute. */
  const series: readonly [string, string, string][] = [
    ['up{job="signet"}', "1x60", "0x60"],
    ['signet_faults_total{service="s",method="m"}', "0x60", "0+60x60"],
    ['signet_refusals_total{reason="UNAVAILABLE"}', "0x60", "0+60x60"],
    ['signet_refusals_total{reason="STORAGE_FULL"}', "0x60", "0+60x60"],
    ["signet_database_waiting", "0x60", "1x60"],
    ["signet_revocation_feed_lag_seconds", "1x60", "20x60"],
    ['signet_rpc_duration_seconds_bucket{service="s",method="m",le="1"}', "0+60x60", "0+10x60"],
    ['signet_rpc_duration_seconds_bucket{service="s",method="m",le="5"}', "0+60x60", "0+60x60"],
    ['signet_rpc_duration_seconds_bucket{service="s",method="m",le="+Inf"}', "0+60x60", "0+60x60"],
    ['signet_sweep_last_success_timestamp_seconds{sweep="tokens"}', "0+60x60", "0x60"],
    ["signet_worker_restarts_total", "0x60", "0+1x60"],
    ["process_resident_memory_bytes", "2e8x60", "7e8x60"],
    ["signet_workers", "1x60", "1x60"],
    ["nodejs_eventloop_lag_p99_seconds", "0.01x60", "1x60"],
    ['signet_limit_refusals_total{limit="email",by="lockout"}', "0x60", "0+60x60"],
    ['signet_sign_ins_total{provider="IDP_A",outcome="OK"}', "0+60x60", "0+10x60"],
    ['signet_sign_ins_total{provider="IDP_A",outcome="PROVIDER_UNAVAILABLE"}', "0+1x60", "0+50x60"],
  ]

  test.each([
    ["none of a healthy server", 1, []],
    ["all of a failure of everything", 2, rules.map(({ alert }) => alert)],
  ] as const)("fire: %s", (_, column, firing) => {
    const expected = firing.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 }))
    const asked = 'count by (alertname) (ALERTS{alertstate="firing"})'
    const one = {
      interval: "1m",
      input_series: series.map((row) => ({ series: row[0], values: row[column] })),
      promql_expr_test: [{ expr: asked, eval_time: "50m", exp_samples: expected }],
    }
    // JSON is YAML.
    const file = write("fires.yaml", JSON.stringify({ rule_files: [alerts], tests: [one] }))
    expect(run("test", "rules", file)).toEqual({ status: 0, said: expect.stringContaining("SUCCESS") })
  })
})

describe("the runbooks", () => {
  const sections = [...read("docs/how-to/runbooks.md").matchAll(/^## (\w+)\n\n\S/gm)].map(([, name]) => name)

  test("explain every alert, and nothing else", () => {
    expect(sections).toEqual(rules.map(({ alert }) => alert))
  })

  test.each(rules)("$alert links its section, and has a severity", ({ alert, labels, annotations }) => {
    expect(annotations.runbook).toBe(`docs/how-to/runbooks.md#${alert.toLowerCase()}`)
    expect(["page", "ticket"]).toContain(labels.severity)
    expect(annotations.summary).toMatch(/^[A-Z].*\.$/)
  })
})
