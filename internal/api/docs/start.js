// Nothing is asked of another host: validatorUrl would have the document checked elsewhere.
window.addEventListener("load", () => {
  window.ui = SwaggerUIBundle({
    url: "openapi.json",
    dom_id: "#swagger-ui",
    deepLinking: true,
    docExpansion: "none",
    defaultModelsExpandDepth: 0,
    validatorUrl: null,
    // A client of MCP takes both, and the page would offer one.
    requestInterceptor: (request) => {
      if (request.url.endsWith("/mcp")) {
        request.headers.Accept = "application/json, text/event-stream";
      }
      return request;
    },
  });
});
