// What the page was given, and in it the numbers and words that Python defines: lambdak/report/constants.py.

const PAYLOAD = JSON.parse(document.getElementById("payload").textContent);
const CONSTANTS = Object.freeze(PAYLOAD.constants);
