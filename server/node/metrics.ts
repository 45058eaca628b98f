import { isMessage } from "@bufbuild/protobuf"
import type { HandlerContext, Interceptor, StreamRequest, UnaryRequest } from "@connectrpc/connect"
import { AuthService, ExternalLoginRequestSchema } from "@signet/proto/auth/v1/auth_service"
import { Provider } from "@signet/proto/auth/v1/records"
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client"
import type { Limiter } from "../rpc/deps.ts"
import { outcomeOf } from "../serving/outcome.ts"
import { settled } from "../serving/settled.ts"

export interface Metrics {
  /** The Prometheus registry; other modules may add metrics. */
  readonly registry: Registry
  /** Counts and times calls. */
  readonly interceptor: Interceptor
  /** Counts and times calls that a gate refuses, which no interceptor sees. */
  readonly gated: (gate: Gate) => Gate
  /** Counts refusals of rate limits and lockouts. */
  readonly onLimited: NonNullable<Limiter["onRefused"]>
  /** Counts and times a sweep, and the rows it deletes. */
  readonly swept: <T extends object>(sweep: string, work: () => Promise<T>) => () => Promise<T>
  /** Registers sources that are read at each scrape. */
  readonly watch: (sources: Sources) => void
}

interface Sources {
  readonly connections: () => { readonly total: number; readonly idle: number; readonly waiting: number }
  /** Milliseconds since the end of the revocation log was known; undefined before the first read. */
  readonly feedLagMs: () => number | undefined
}

type Gate = (context: HandlerContext) => Promise<void>

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Creates the metrics. Labels have closed sets of values, such as methods and reasons, and nothing about callers. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  workersRunning(registry).set(1)
  workerRestarts(registry)
  workerHangs(registry)
  const calls = createCallMetrics(registry)
  const limited = new Counter({
    name: "signet_limit_refusals_total",
    help: "Calls refused by a rate limit or a lockout.",
    labelNames: ["limit", "by"],
    registers: [registry],
  })
  return {
    registry,
    ...calls,
    onLimited: (limit, by) => limited.inc({ limit, by }),
    swept: createSweepMetrics(registry),
    watch: createGauges(registry),
  }
}

/** Creates the metrics of a process that only supervises workers: the rest of its page comes from them. */
export function createSupervisorMetrics(): {
  readonly registry: Registry
  readonly restarted: () => void
  readonly hung: () => void
} {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const [restarts, hangs] = [workerRestarts(registry), workerHangs(registry)]
  return { registry, restarted: () => restarts.inc(), hung: () => hangs.inc() }
}

const workersRunning = (registry: Registry) =>
  new Gauge({ name: "signet_workers", help: "Running workers.", registers: [registry] })

const workerRestarts = (registry: Registry) =>
  new Counter({
    name: "signet_worker_restarts_total",
    help: "Workers that ended and were replaced.",
    registers: [registry],
  })

const workerHangs = (registry: Registry) =>
  new Counter({
    name: "signet_worker_hangs_total",
    help: "Workers that hung, in their start or later, and were ended.",
    registers: [registry],
  })

function createCallMetrics(registry: Registry): Pick<Metrics, "interceptor" | "gated"> {
  const registers = [registry]
  const durations = new Histogram({
    name: "signet_rpc_duration_seconds",
    help: "Duration of calls; for streams, the time they were open.",
    labelNames: ["service", "method", "outcome"],
    buckets: seconds,
    registers,
  })
  const faults = new Counter({
    name: "signet_faults_total",
    help: "Calls that failed with INTERNAL.",
    labelNames: ["service", "method"],
    registers,
  })
  const refusals = new Counter({
    name: "signet_refusals_total",
    help: "Refused calls, by reason.",
    labelNames: ["reason"],
    registers,
  })
  const signIns = new Counter({
    name: "signet_sign_ins_total",
    help: "Sign-ins, by provider. The outcome is OK or the reason of the refusal.",
    labelNames: ["provider", "outcome"],
    registers,
  })
  const streams = new Gauge({
    name: "signet_streams_open",
    help: "Open streams.",
    labelNames: ["service", "method"],
    registers,
  })
  const ended = (labels: { service: string; method: string }, startedMs: number, thrown: unknown) => {
    const outcome = outcomeOf(thrown)
    durations.observe({ ...labels, outcome }, (performance.now() - startedMs) / 1_000)
    if (outcome === "INTERNAL") faults.inc(labels)
    else if (outcome !== "OK") refusals.inc({ reason: outcome })
    return outcome
  }
  return {
    gated: (gate) => async (context) => {
      const startedMs = performance.now()
      try {
        await gate(context)
      } catch (thrown) {
        ended({ service: context.service.typeName, method: context.method.name }, startedMs, thrown)
        throw thrown
      }
    },
    interceptor: (next) => (req) => {
      const startedMs = performance.now()
      const labels = { service: req.service.typeName, method: req.method.name }
      const provider = signInProviderOf(req)
      if (req.stream) streams.inc(labels)
      return settled(
        () => next(req),
        (thrown) => {
          const outcome = ended(labels, startedMs, thrown)
          if (provider !== undefined) signIns.inc({ provider, outcome })
          if (req.stream) streams.dec(labels)
        },
      )
    },
  }
}

/** A closed set: an unknown number is counted before validation refuses it. */
const externalProviders = new Map<number, string>([
  [Provider.IDP_A, "IDP_A"],
  [Provider.IDP_B, "IDP_B"],
  [Provider.IDP_C, "IDP_C"],
])

/** The provider of a sign-in; undefined for other calls. */
function signInProviderOf(req: UnaryRequest | StreamRequest): string | undefined {
  const { externalLogin, emailPasswordLogin, confirmMagicLink } = AuthService.method
  if (req.stream) return undefined
  if (req.method === emailPasswordLogin || req.method === confirmMagicLink) return "IDP_C"
  const isExternal = req.method === externalLogin && isMessage(req.message, ExternalLoginRequestSchema)
  return isExternal ? (externalProviders.get(req.message.provider) ?? "unknown") : undefined
}

function createSweepMetrics(registry: Registry): Metrics["swept"] {
  const registers = [registry]
  const durations = new Histogram({
    name: "signet_sweep_duration_seconds",
    help: "Duration of sweeps that erase expired rows. The outcome is OK or FAULT.",
    labelNames: ["sweep", "outcome"],
    buckets: seconds,
    registers,
  })
  const rows = new Counter({
    name: "signet_swept_rows_total",
    help: "Rows erased by sweeps.",
    labelNames: ["sweep", "kind"],
    registers,
  })
  const lastSuccess = new Gauge({
    name: "signet_sweep_last_success_timestamp_seconds",
    help: "Unix time of the last successful sweep.",
    labelNames: ["sweep"],
    aggregator: "max",
    registers,
  })
  return (sweep, work) => async () => {
    const end = durations.startTimer({ sweep })
    try {
      const swept = await work()
      for (const [kind, count] of Object.entries(swept)) rows.inc({ sweep, kind }, Number(count))
      lastSuccess.setToCurrentTime({ sweep })
      end({ outcome: "OK" })
      return swept
    } catch (fault) {
      end({ outcome: "FAULT" })
      throw fault
    }
  }
}

function createGauges(registry: Registry): Metrics["watch"] {
  let sources: Sources | undefined
  const registers = [registry]
  new Gauge({
    name: "signet_database_connections",
    help: "Database connections: idle or in_use.",
    labelNames: ["state"],
    registers,
    collect() {
      const { total, idle } = sources?.connections() ?? { total: 0, idle: 0 }
      this.set({ state: "idle" }, idle)
      this.set({ state: "in_use" }, total - idle)
    },
  })
  new Gauge({
    name: "signet_database_waiting",
    help: "Transactions and statements that are waiting for a database connection.",
    registers,
    collect() {
      this.set(sources?.connections().waiting ?? 0)
    },
  })
  new Gauge({
    name: "signet_revocation_feed_lag_seconds",
    help: "Seconds since this process last read the end of the revocation log.",
    aggregator: "max",
    registers,
    collect() {
      const lagMs = sources?.feedLagMs()
      if (lagMs === undefined) this.reset()
      else this.set(lagMs / 1_000)
    },
  })
  return (of) => {
    sources = of
  }
}
