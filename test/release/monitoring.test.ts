// Alert rules, the dashboard and the runbooks: every metric exists, every expression parses, every alert is explained.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { parser } from "@prometheus-io/lezer-promql"
import { describe, expect, test } from "vitest"
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
