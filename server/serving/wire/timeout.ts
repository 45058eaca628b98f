import { Refused } from "@signet/kernel/errors"

const unitMs: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 0.001, n: 0.000_001 }

/**
 * The caller's deadline in milliseconds, from Connect's header (also for REST) or gRPC's; undefined without one.
 *
 * @see https://connectrpc.com/docs/protocol#unary-request
 * @see https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 * @throws Refused MALFORMED_REQUEST
 */
export function parseTimeout(header: (name: string) => string | null | undefined): number | undefined {
  const connect = header("connect-timeout-ms")
  if (connect != null) {
    if (!/^\d{1,10}$/.test(connect)) throw malformed("Connect-Timeout-Ms")
    return Number(connect)
  }
  const grpc = header("grpc-timeout")
  if (grpc == null) return undefined
  const [, amount, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(grpc) ?? []
  if (amount === undefined) throw malformed("Grpc-Timeout")
  return Number(amount) * (unitMs[unit] ?? 1)
}

const malformed = (header: string) => new Refused("MALFORMED_REQUEST", { metadata: { header } })
