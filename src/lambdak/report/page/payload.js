// What the page was given: lambdak/report/payload.py.

const PAYLOAD = JSON.parse(document.getElementById("payload").textContent);
