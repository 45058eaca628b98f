import type { DescService } from "@bufbuild/protobuf"
import { type Client, createClient } from "@connectrpc/connect"
import { useMemo } from "react"
import { useSignet } from "./provider.tsx"

/** A client of a service at the auth service's address, with the signed-in user's token. */
export function useService<Service extends DescService>(service: Service): Client<Service> {
  const { session } = useSignet()
  return useMemo(() => createClient(service, session.transport()), [session, service])
}
