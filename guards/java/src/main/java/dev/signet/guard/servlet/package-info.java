/** The guard before servlets, Spring MVC and JAX-RS. Needs jakarta.servlet-api. */
package dev.signet.guard.servlet;
