"use client"
import { configure } from "@signet/client-web"
import { useEffect, useState } from "react"

export default function Page() {
  const [is, setIs] = useState("loading")
  useEffect(() => {
    const signet = configure({
      appId: "app_01kdvdna00edmtevk5ehj6axhg",
      authBaseUrl: "http://127.0.0.1:8080",
      providers: ["IDP_A"],
    })
    const unsubscribe = signet.session.subscribe((state) => setIs(state.is))
    return () => {
      unsubscribe()
      signet.close()
    }
  }, [])
  return <main>notes: {is}</main>
}
