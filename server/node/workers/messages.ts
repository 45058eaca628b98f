// Messages between the supervisor and its workers, over the channel of node:cluster.

/** All metrics of a process with their values, as prom-client describes them. */
export type MetricsSnapshot = readonly object[]

export type ToWorker =
  /** Ends streams, drains calls, and exits with 0. */
  | { readonly is: "stop" }
  /** Asks for the metrics; the answer has the same number. */
  | { readonly is: "measure"; readonly request: number }
  /** Hints of other processes, as payloads of server/wakeups. */
  | { readonly is: "hints"; readonly payloads: readonly string[] }
  /** Whether hints of other machines arrive. */
  | { readonly is: "listening"; readonly listening: boolean }
  /** Whether each worker of the port accepts calls. */
  | { readonly is: "workers"; readonly complete: boolean }

export type ToSupervisor =
  | { readonly is: "ready"; readonly url: string }
  /** Sent once a second by a worker that accepts calls or migrates the database: its event loop runs. */
  | { readonly is: "alive" }
  | { readonly is: "measured"; readonly request: number; readonly metrics: MetricsSnapshot }
  | { readonly is: "hints"; readonly payloads: readonly string[] }

export const aliveEveryMs = 1_000

/** Where a worker's number is passed on: 1 and up. */
export const workerVariable = "SIGNET_WORKER"
