// A primary with a synchronous standby, both on this machine.
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { freePort } from "../support/free-port.ts"
import { openCluster } from "./postgres-cluster.ts"

interface PostgresPair {
  /** One URL with both hosts. */
  readonly url: string
  /** Ports of the primary and of the standby. */
  readonly ports: readonly [number, number]
  /** Kills the primary with all of its processes: nothing is flushed, no connection is closed in order. */
  killPrimary(): void
  /** Promotes the standby. Resolves when it accepts writes. */
  promote(): Promise<void>
  stop(): Promise<void>
}

interface PairOptions {
  /** Addresses of the primary and of the standby. Default: 127.0.0.1, with two ports. */
  readonly hosts?: readonly [string, string]
  /** The port of both, if they have two addresses. */
  readonly port?: number
}

/** @returns Undefined if there is no PostgreSQL. */
export async function startPostgresPair({ hosts, port }: PairOptions = {}): Promise<PostgresPair | undefined> {
  const cluster = await openCluster()
  if (cluster === undefined) return undefined
  const data = { primary: join(cluster.folder, "primary"), standby: join(cluster.folder, "standby") }
  await cluster.initialise(data.primary)
  // A copy before the first start is a complete backup.
  await cluster.copy(data.primary, data.standby)
  writeFileSync(join(data.standby, "standby.signal"), "")
  await cluster.own(data.standby)
  const addresses = hosts ?? (["127.0.0.1", "127.0.0.1"] as const)
  const ports = [port ?? (await freePort()), port ?? (await freePort())] as const
  const primary = await cluster.start(data.primary, ports[0], {
    ...{ listen_addresses: addresses[0], synchronous_standby_names: "standby", synchronous_commit: "on" },
  })
  const follows = `host=${addresses[0]} port=${ports[0]} user=postgres application_name=standby`
  const standby = await cluster.start(data.standby, ports[1], {
    ...{ listen_addresses: addresses[1], primary_conninfo: follows },
  })
  await primary.query("create database signet")
  // For the check of HAProxy.
  await primary.query("create role haproxy login")
  const at = addresses.map((host, index) => `${host}:${ports[index]}`)
  return {
    url: `postgres://postgres@${at.join()}/signet`,
    ports,
    killPrimary: primary.kill,
    async promote() {
      await standby.query("select pg_promote(true, 30)")
    },
    stop: cluster.close,
  }
}
