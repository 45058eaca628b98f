import type { ConnectRouter } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { Health, HealthCheckResponse_ServingStatus as Status } from "@signet/proto/grpc/health/v1/health"
import type { Routes } from "../../serving/collect.ts"

export interface HealthState {
  /** grpc.health.v1: Check, List and Watch. */
  readonly routes: Routes
  /** Sets every service to NOT_SERVING and notifies the watchers. */
  readonly stop: () => void
}

/**
 * The health of the services, for gRPC clients and load balancers.
 *
 * @param services Type names; "" stands for the server as a whole.
 * @see https://github.com/grpc/grpc/blob/master/doc/health-checking.md
 */
export function healthState(services: readonly string[]): HealthState {
  const names = ["", ...services]
  let status: Status = Status.SERVING
  const watchers = new Set<() => void>()
  const statusOf = (name: string): Status | undefined => (names.includes(name) ? status : undefined)

  async function* watch(name: string, signal: AbortSignal) {
    let sent: Status | undefined
    for (;;) {
      const current = statusOf(name) ?? Status.SERVICE_UNKNOWN
      if (current !== sent) yield { status: current }
      sent = current
      if (current === Status.NOT_SERVING || signal.aborted) return
      await change(signal)
    }
  }

  function change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        watchers.delete(wake)
        signal.removeEventListener("abort", wake)
        resolve()
      }
      watchers.add(wake)
      signal.addEventListener("abort", wake)
    })
  }

  return {
    routes: (router: ConnectRouter) => {
      router.service(Health, {
        check({ service }) {
          const found = statusOf(service)
          if (found === undefined) throw new Refused("NOT_FOUND")
          return { status: found }
        },
        list: () => ({ statuses: Object.fromEntries(names.map((name) => [name, { status }])) }),
        watch: ({ service }, { signal }) => watch(service, signal),
      })
    },
    stop() {
      status = Status.NOT_SERVING
      for (const wake of [...watchers]) wake()
    },
  }
}
