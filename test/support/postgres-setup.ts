// Vitest's global setup. Databases cost a second or more and most runs need none, so it starts what a test file first
// requests through `postgres.ts`.
import { createHash } from "node:crypto"
import { once } from "node:events"
import fs from "node:fs/promises"
import { createServer } from "node:http"
import path from "node:path"
import { PGlite } from "@electric-sql/pglite"
import { createPgConfig } from "@electric-sql/pglite/node-postgres"
import { CompiledQuery } from "kysely"
import type { TestProject } from "vitest/node"
import { migrate, readMigrations } from "../../server/store/postgres/migrate.ts"
import { kyselyOn, openPostgres } from "../../server/store/postgres/open.ts"
import { type PostgresServer, startPostgres } from "./postgres-server.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** URL at which test files request databases. */
    databases: string
  }
}

/** A database whose user may create others, by TCP and by Unix socket, and the name of a migrated database. */
export type PostgresAnswer = { url: string; socketUrl: string; template: string } | { missing: string }
/** Path of a tar with a migrated data folder. */
export interface PgliteAnswer {
  dump: string
}

interface Postgres {
  server: PostgresServer
  template: string
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let postgres: Promise<Postgres | undefined> | undefined
  let dump: Promise<string> | undefined
  const answer = async (path: string | undefined): Promise<PostgresAnswer | PgliteAnswer> => {
    if (path === "/pglite") {
      dump ??= dumpPglite()
      return { dump: await dump }
    }
    postgres ??= preparePostgres()
    const ready = await postgres
    if (ready === undefined) return { missing: "no PostgreSQL was found" }
    const { url, socketUrl } = ready.server
    return { url, socketUrl, template: ready.template }
  }
  const server = createServer((request, response) => {
    // Test files return after seconds, when a kept-alive connection may be closing.
    response.setHeader("connection", "close")
    answer(request.url).then(
      (found) => response.end(JSON.stringify(found)),
      (error) => response.writeHead(500).end(String(error)),
    )
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  project.provide("databases", typeof address === "object" && address ? `http://127.0.0.1:${address.port}` : "")

  return async () => {
    server.close()
    server.closeAllConnections()
    const started = await postgres?.catch(() => undefined)
    if (started === undefined) return
    await execute(started.server.url, `drop database if exists ${started.template} with (force)`)
    await started.server.stop()
  }
}

/** Uses DATABASE_URL's server if set, else our own, and creates a migrated template. */
async function preparePostgres(): Promise<Postgres | undefined> {
  const given = process.env.DATABASE_URL
  const server = given ? { url: given, socketUrl: given, stop: async () => {} } : await startPostgres()
  if (server === undefined) return undefined
  const template = `signet_template_${process.pid}`
  try {
    await execute(server.url, `create database ${template}`)
    const url = new URL(server.url)
    url.pathname = `/${template}`
    const { db, close } = openPostgres(url.href, { maxConnections: 1 })
    await migrate(db)
    await close()
    return { server, template }
  } catch (error) {
    await server.stop()
    throw error
  }
}

async function execute(url: string, text: string): Promise<void> {
  const { db, close } = openPostgres(url, { maxConnections: 1 })
  await db.executeQuery(CompiledQuery.raw(text))
  await close()
}

/**
 * A first start takes seconds; a start from a dump does not. Cached between runs until PGlite or a migration changes.
 */
async function dumpPglite(): Promise<string> {
  const version = JSON.parse(await fs.readFile("node_modules/@electric-sql/pglite/package.json", "utf8")).version
  const migrations = (await readMigrations()).map(({ name, sha256 }) => `${name} ${sha256}`)
  const key = createHash("sha256")
    .update([version, ...migrations].join())
    .digest("hex")
    .slice(0, 16)
  const file = path.resolve("node_modules/.cache/signet", `pglite-${key}.tar`)
  if (await fs.stat(file).catch(() => undefined)) return file

  const pglite = await PGlite.create()
  const { db } = kyselyOn({ ...createPgConfig(pglite), max: 1 })
  await migrate(db)
  await db.destroy()
  const dump = await pglite.dumpDataDir("none")
  await pglite.close()
  await fs.mkdir(path.dirname(file), { recursive: true })
  const unfinished = `${file}.${process.pid}`
  await fs.writeFile(unfinished, new Uint8Array(await dump.arrayBuffer()))
  await fs.rename(unfinished, file)
  return file
}
