import type { AuthContext, Requirement } from "@signet/guard"
import { Refused } from "@signet/guard"
import { createConnectGuard, kAuth } from "@signet/guard/connect"
import { callerOf, guardMiddleware } from "@signet/guard/express"
import { guardHook } from "@signet/guard/fastify"
import { guardFetch } from "@signet/guard/fetch"
import { createNodeGuard } from "@signet/guard/node"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import express from "express"
import fastify from "fastify"
import { Hono } from "hono"

const requirement: Requirement = { is: "scope", scope: "notes.read" }
const guard = createNodeGuard({
  issuer: "https://auth.example",
  audience: "svc-notes",
  appId: "app_01kdvdna00edmtevk5ehj6axhg",
})

express().get("/notes", guardMiddleware({ guard, requirement }), (request, response) => {
  const caller: AuthContext | undefined = callerOf(request)
  response.json({ of: caller?.principal.id })
})
fastify().get("/notes", { preHandler: guardHook({ guard, requirement }) }, async (request) => ({
  of: callerOf(request)?.principal.id,
}))
const notes = guardFetch({ guard, requirement }, (_, { caller }) => Response.json({ of: caller?.principal.id }))
new Hono().get("/notes", (context) => notes(context.req.raw))
const { interceptor } = createConnectGuard({ guard, services: [AuthService] })

export function reasonOf(error: unknown): string {
  return error instanceof Refused ? error.reason : `${kAuth.defaultValue} ${interceptor.length}`
}
