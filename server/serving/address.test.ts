import { expect, test } from "vitest"
import { networkOf, truncateAddress } from "./address.ts"

test.each([
  ["203.0.113.77", "203.0.113.0/24"],
  ["::ffff:203.0.113.77", "203.0.113.0/24"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"],
  ["2001:db8::1", "2001:db8:0::/48"],
  ["::1", "0:0:0::/48"],
  ["not an address", null],
  ["203.0.113.256", null],
  ["203.0.113.07", null],
  ["203.0.113.x", null],
  ["203.0.113", null],
  ["1::2::3", null],
])("the address %s is kept as %s", (address, kept) => {
  expect(truncateAddress(address)).toBe(kept)
})

test.each([
  ["203.0.113.77", "203.0.113.77"],
  ["::ffff:203.0.113.77", "203.0.113.77"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:0DB8:1:0002::9", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["not an address", null],
  ["203.0.113.256", null],
  ["203.0.113.07", null],
  ["203.0.113.x", null],
  ["203.0.113", null],
  ["1::2::3", null],
])("calls from %s are counted for %s", (address, network) => {
  expect(networkOf(address)).toBe(network)
})
