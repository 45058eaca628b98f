// The cache of what the console has read.
import { needsSignIn } from "@signet/client-web"
import { QueryClient } from "@tanstack/react-query"

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (count, error) => count < 1 && !needsSignIn(error),
      refetchOnWindowFocus: false,
    },
  },
})
